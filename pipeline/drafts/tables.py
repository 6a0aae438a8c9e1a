"""Drafts a commented recipe for a file of rows: tables and texts."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from components.ingest import table_survey
from components.ingest.errors import DataError
from components.ingest.sources import columns, sequences
from components.ingest.table_survey import TableSurvey
from pipeline import toml_text
from pipeline.drafts import parts, table_parts
from pipeline.drafts.machine import Machine

_MAX_CLASSES = 100
_MIN_CLASS_ROWS = 20
_LEFT_OUT = {
    "id": "differs in nearly every row",
    "constant": "never changes",
    "text": "is a text",
    "time": "is a time, and tomorrow's is not among those learned from",
}
_VALIDATION_SHARE, _TEST_SHARE = 0.1, 0.1
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MIN_TOKENS, _MAX_TOKENS, _TOKENS_STEP = 16, 256, 8
_TOKENS_PERCENTILE, _NUM_TEXTS = 90, 2000
_TABLE_STEPS, _TEXT_STEPS = 1000, 220
_TEXT_RATE = 5e-3


class TableDraft(parts.Draft):
    """The recipe that predicts a class or a number of each row.

    Args:
        survey: From `components.ingest.table_survey.survey_table`.
        path: The file.
        name: The recipe's name.
        machine: Where it will run.
        label: The column of classes; chosen if neither it nor `target` is given.
        target: The column of numbers to predict.
        group: The column whose rows belong together; looked for if None.

    Raises:
        DataError: If there is no such column, or none that could be predicted.
    """

    seed = 0

    def __init__(
        self,
        survey: TableSurvey,
        path: Path,
        *,
        name: str,
        machine: Machine,
        label: str | None = None,
        target: str | None = None,
        group: str | None = None,
    ):
        self._survey, self._path, self._name, self._machine = survey, path, name, machine
        self.is_whole = survey.num_rows < table_survey.MAX_ROWS
        self.summary = table_parts.summary(survey)
        found_group = group or table_survey.find_group_column(survey)
        self._answer = label or target or choose_answer(survey, found_group)
        for column in (self._answer, *([group] if group else [])):
            table_parts.check_column(survey, column)
        self._is_class = target is None and (
            label is not None or _could_be_label(survey, self._answer)
        )
        text = _find_text(survey)
        self._text = text if self._is_class and text != self._answer else None
        self._group = None if found_group == self._answer else found_group
        time = table_survey.find_time_column(survey)
        keys = {"time": None if group or time == self._answer else time, "group": self._group}
        # The best way first; by content is always possible.
        self._ways = (*((by, key) for by, key in keys.items() if key), ("hash", ""))
        self.num_splits = len(self._ways)

    def notes(self, choices: parts.Choices) -> tuple[str, ...]:
        """Says what was chosen."""
        kind = "a class" if self._is_class else "a number"
        by, key = self._ways[choices.split]
        says = {
            "time": f"split by time: the latest rows by {key} are the test split",
            "group": f"split by group: rows with the same {key} stay together",
            "hash": "split by the rows' content; rows that belong together: --group NAME",
        }
        return (
            f"predicts {self._answer}, {kind}; another column: --label NAME or --target NAME",
            says[by],
        )

    def text(self, choices: parts.Choices) -> str:
        """Returns the recipe."""
        answer = toml_text.value(self._answer)
        head = table_parts.head(
            self._survey,
            self._path,
            self._machine,
            name=self._name,
            description=f"Predicts {self._answer}.",
            task=self._task(),
            seed=choices.seed,
        )
        inputs = self._text_table() if self._text else self._columns(choices)
        if self._is_class:
            names = class_names(self._survey, self._answer)
            answers = parts.labels(names, source_name=self._answer)
        else:
            answers = f"[data.target]\nsource_name = {answer}\n\n"
        return "".join(
            [
                head,
                inputs,
                answers,
                self._splits(choices),
                parts.rejects(choices, thing="rows"),
                parts.guard(choices),
                self._model_and_training(),
                self._gate(),
            ]
        )

    def _task(self) -> str:
        if self._text:
            return "text_classification"
        return "tabular_classification" if self._is_class else "tabular_regression"

    def _text_table(self) -> str:
        assert self._text is not None
        num_tokens = _usual_tokens(self._survey.columns[self._text].counts)
        return (
            f"# Nine of ten texts have up to {num_tokens} words and signs; what is longer is cut "
            f"off.\n[data.text]\nsource_name = {toml_text.value(self._text)}\n"
            f"max_tokens = {min(max(num_tokens, _MIN_TOKENS), _MAX_TOKENS)}\n\n"
        )

    def _columns(self, choices: parts.Choices) -> str:
        left_out = dict(choices.left_out)
        if self._group:
            left_out[self._group] = "tells which rows belong together"
        lines, num_kept = [], 0
        for name, column in self._survey.columns.items():
            if name == self._answer:
                continue
            key = toml_text.dumps({name: 0}).rpartition(" = ")[0]
            if name in left_out or column.kind not in ("number", "category", "sequence"):
                why = left_out.get(name) or _LEFT_OUT.get(column.kind, "is of another kind")
                lines.append(f"# Left out: {key} {why}.")
            else:
                lines.append(f"{key} = {{ {self._column(name, column.kind)} }}")
                num_kept += 1
        if not num_kept:
            raise DataError(
                "Expected a column of numbers or names beside the answer. Received: none."
            )
        return (
            "# Leave out what is known only when the answer is.\n[data.table.columns]\n"
            + "\n".join(lines)
            + "\n\n"
        )

    def _column(self, name: str, kind: str) -> str:
        if kind != "sequence":
            return f'kind = "{kind}"'
        shape = sequences.shape(name, self._survey.arrays[name])
        settings = shape.model_dump(exclude_defaults=True)
        return ", ".join(f"{key} = {toml_text.value(value)}" for key, value in settings.items())

    def _splits(self, choices: parts.Choices) -> str:
        by, key = self._ways[choices.split]
        why = {
            "time": "# The latest rows are the test split, those before them the validation split: "
            "a model is asked\n# about days to come.\n",
            "group": "# Rows with the same key stay in one split: a model is asked about ones that "
            "it never saw.\n",
            "hash": "# Membership is a hash of the input: a row stays in its split when the data "
            "grows. Rows that belong\n"
            '# together (of one customer, say) need by = "group" and key = their column.\n',
        }
        note = f"# {choices.split_note}\n" if choices.split_note else ""
        share = "" if self._survey.has_test_arrays else f"test_share = {_TEST_SHARE}\n"
        lines = f'by = "{by}"\nkey = {toml_text.value(key)}\n' if key else ""
        return (
            f"{why[by]}{note}[data.splits]\n{lines}"
            f"validation_share = {_VALIDATION_SHARE}\n{share}\n"
        )

    def _model_and_training(self) -> str:
        machine = self._machine
        num_train = max(1, round(self._survey.num_rows * (1 - _VALIDATION_SHARE - _TEST_SHARE)))
        batch_size = machine.batch_size(num_train, small=32, large=128, from_rows=4000)
        num_epochs = machine.num_epochs(
            num_train,
            batch_size=batch_size,
            num_steps=_TEXT_STEPS if self._text else _TABLE_STEPS,
            least=3,
            most=100,
        )
        architecture = "bag_of_embeddings" if self._text else "mlp"
        return f'[model]\narchitecture = "{architecture}"\n\n' + parts.training(
            machine,
            num_train=num_train,
            num_epochs=num_epochs,
            batch_size=batch_size,
            learning_rate=_TEXT_RATE if self._text else None,
        )

    def _gate(self) -> str:
        learner = "A linear model of the words" if self._text else "Boosted trees"
        return (
            f"{self._bounds()}# {learner} on the same rows will stand beside the model; "
            '"beat" refuses a model that is\n# no better.\nreference = "report"\n'
        )

    def _bounds(self) -> str:
        if self._is_class:
            counts = self._survey.columns[self._answer].counts
            majority = next(iter(counts))
            return parts.class_gate(majority, counts[majority] / sum(counts.values()))
        array = self._survey.arrays[self._answer]
        numbers = columns.numbers(self._answer, array, columns.Problems())
        values_N = numbers.values_N[numbers.present_N]
        error = float(np.abs(values_N - np.median(values_N)).mean())
        return parts.number_gate(
            "The simple forecast is the median of the training split, which is wrong by "
            f"{error:.4g} on average."
        )


def choose_answer(survey: TableSurvey, group: str | None) -> str:
    """Chooses the column to predict: one that is called so, or the last that could be.

    Raises:
        DataError: If there is none.
    """
    usable = [
        name
        for name, column in survey.columns.items()
        if column.kind in ("number", "category") and name != group
    ]
    return table_parts.choose(
        # What is asked for stands last more often than not.
        usable[::-1],
        survey,
        expected="a column that could be predicted",
        cure="Name it with --label or --target.",
    )


def class_names(survey: TableSurvey, name: str) -> list[str]:
    """Returns the classes, whole numbers in the order of their values, as labels by index need."""
    return sorted(
        survey.columns[name].counts,
        key=lambda text: (int(text) if text.isdecimal() else -1, text),
    )


def _could_be_label(survey: TableSurvey, name: str) -> bool:
    column = survey.columns[name]
    is_few = len(column.counts) <= min(_MAX_CLASSES, survey.num_rows // _MIN_CLASS_ROWS)
    return column.kind == "category" or (is_few and all("." not in text for text in column.counts))


def _find_text(survey: TableSurvey) -> str | None:
    """Returns the column of the longest texts."""
    texts = [name for name, column in survey.columns.items() if column.kind == "text"]
    return max(texts, key=lambda name: sum(map(len, survey.columns[name].counts)), default=None)


def _usual_tokens(texts: Mapping[str, int]) -> int:
    stride = -(-len(texts) // _NUM_TEXTS)
    lengths = [len(_TOKEN.findall(text)) for text in list(texts)[::stride]]
    usual = int(np.percentile(lengths, _TOKENS_PERCENTILE))
    return -(-usual // _TOKENS_STEP) * _TOKENS_STEP
