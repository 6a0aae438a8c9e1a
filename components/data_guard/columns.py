"""Columns of a table: constant, empty and identical ones, and splits in which they differ.

Legend: R rows, N columns of numbers, C columns of names.
"""

from collections.abc import Iterable

import numpy as np

from components.data_guard import rules, shifts
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import SPLITS, Dataset
from components.data_guard.findings import NEVER, Finding
from components.ingest import fingerprint

# A column is mostly missing above this share.
_MAX_MISSING = 0.5
_SAMPLE_ROWS = 50_000
_MAX_NAMED = 10


def find_column_findings(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Looks at each column of a table by itself, and at pairs of equal ones."""
    samples = {split: dataset.sample(split, _SAMPLE_ROWS) for split in SPLITS}
    return [
        *_find_unused(dataset),
        *_find_identical(dataset, samples["train"]),
        *_find_shifted(dataset, config, samples),
        *_find_target_leaks(dataset, config, samples),
    ]


def _find_unused(dataset: Dataset) -> list[Finding]:
    lowest, highest, num_missing = _extremes(dataset)
    names = *dataset.layout.numbers, *dataset.layout.categories
    num_train = dataset.num_train()
    is_constant = (lowest >= highest) | (num_missing == num_train)
    is_constant &= (num_missing == 0) | (num_missing == num_train)
    is_missing = (num_missing / num_train > _MAX_MISSING) & ~is_constant
    found = []
    if is_constant.any():
        named = _named(names[index] for index in np.flatnonzero(is_constant))
        found.append(
            Finding(
                name="constant_columns",
                amount=float(is_constant.mean()),
                limit=NEVER,
                sentence=f"Columns with one value in all of training: {named}.",
                cure="Take them out of data.table.columns: nothing can be learned from them.",
            )
        )
    if is_missing.any():
        named = _named(
            f"{names[index]} ({num_missing[index] / num_train:.1%})"
            for index in np.flatnonzero(is_missing)
        )
        found.append(
            Finding(
                name="missing_values",
                amount=float((num_missing / num_train).max()),
                limit=NEVER,
                sentence=f"Columns that are mostly missing in training: {named}.",
                cure="Find out why; that a value is missing may itself tell the answer.",
            )
        )
    return found


def _named(names: Iterable[str]) -> str:
    shown = list(names)
    more = len(shown) - _MAX_NAMED
    return ", ".join(shown[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _extremes(dataset: Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns of each column the lowest and highest value in training, and how many miss."""
    layout = dataset.layout
    lowest = [np.full(len(layout.numbers), np.inf), np.full(len(layout.categories), np.inf)]
    highest = [-values for values in lowest]
    num_missing = [np.zeros(len(values), np.int64) for values in lowest]
    for chunk in dataset.chunks("train"):
        numbers, categories = chunk.rows_R["numbers"], chunk.rows_R["categories"]
        is_missing = np.isnan(numbers), categories == fingerprint.MISSING
        # A hash loses bits as a float, but two hashes hardly ever lose the difference.
        for side, values in enumerate((numbers, categories.astype(np.float64))):
            gaps = is_missing[side]
            lowest[side] = np.minimum(lowest[side], np.where(gaps, np.inf, values).min(0))
            highest[side] = np.maximum(highest[side], np.where(gaps, -np.inf, values).max(0))
            num_missing[side] += gaps.sum(0)
    return np.concatenate(lowest), np.concatenate(highest), np.concatenate(num_missing)


def _find_identical(dataset: Dataset, train: np.ndarray) -> list[Finding]:
    pairs = []
    for kind, names in (
        ("numbers", dataset.layout.numbers),
        ("categories", dataset.layout.categories),
    ):
        first: dict[bytes, str] = {}
        for index, name in enumerate(names):
            values = train[kind][:, index]
            if len(np.unique(values)) > 1:
                other = first.setdefault(np.ascontiguousarray(values).tobytes(), name)
                pairs += [f"{name} = {other}"] * (other != name)
    if not pairs:
        return []
    return [
        Finding(
            name="identical_columns",
            amount=len(pairs) / (len(dataset.layout.numbers) + len(dataset.layout.categories)),
            limit=NEVER,
            sentence=f"Columns that are equal in the training split: {_named(pairs)}.",
            cure="Keep one of them in data.table.columns.",
        )
    ]


def _find_shifted(
    dataset: Dataset, config: DataGuardConfig, samples: dict[str, np.ndarray]
) -> list[Finding]:
    found = []
    for split in SPLITS[1:]:
        shifted = _shifted_columns(dataset, samples["train"], samples[split])
        if shifted:
            shown = _named(f"{name} ({distance:.1%})" for distance, name in shifted)
            found.append(
                Finding(
                    name="feature_shift",
                    amount=shifted[0][0],
                    limit=shifts.limit(dataset, config.max_feature_shift),
                    sentence=f"Columns of {split} that differ from train's: {shown}.",
                    cure="Find out whether these rows come from elsewhere or from another time.",
                )
            )
    return found


def _shifted_columns(
    dataset: Dataset, train: np.ndarray, other: np.ndarray
) -> list[tuple[float, str]]:
    """Returns the columns that differ by more than chance, the most different first."""
    layout = dataset.layout
    num_tests = (len(layout.numbers) + len(layout.categories)) * (len(SPLITS) - 1)
    found = []
    for index, name in enumerate(layout.numbers):
        columns = train["numbers"][:, index], other["numbers"][:, index]
        distance, is_chance = shifts.number_distance(*columns, num_tests=num_tests)
        found += [(distance, name)] * (not is_chance)
    for index, name in enumerate(layout.categories):
        columns = train["categories"][:, index], other["categories"][:, index]
        distance, is_chance = shifts.name_distance(*columns, num_tests=num_tests)
        found += [(distance, name)] * (not is_chance)
    return sorted(found, reverse=True)


def _find_target_leaks(
    dataset: Dataset, config: DataGuardConfig, samples: dict[str, np.ndarray]
) -> list[Finding]:
    layout, answer = dataset.layout, dataset.layout.answer_name
    train, validation = samples["train"], samples["validation"]
    answers = rules.Answers(train[answer], validation[answer], len(layout.class_names))
    scores = {}
    for kind, names, score in (
        ("numbers", layout.numbers, rules.score_numbers),
        ("categories", layout.categories, rules.score_names),
    ):
        for index, name in enumerate(names):
            scores[name] = score(train[kind][:, index], validation[kind][:, index], answers).avoided
    telling = sorted(
        (name for name in scores if scores[name] > config.max_target_leak),
        key=lambda name: -scores[name],
    )
    if not telling:
        return []
    shown = _named(f"{name} ({scores[name]:.1%})" for name in telling)
    return [
        Finding(
            name="target_leak",
            amount=scores[telling[0]],
            limit=config.max_target_leak,
            sentence=f"Columns that each alone avoid nearly all errors of a guess: {shown}.",
            cure="If they are known only after the answer is, take them out of data.table.columns.",
            columns=tuple(telling),
        )
    ]
