"""Checks what a trial on the data changes in a draft, and what it leaves to stop the run."""

import numpy as np
import pytest

from components.ingest import errors, table_survey
from pipeline import config_errors, toml_file
from pipeline.config import Recipe
from pipeline.drafts import machine, tables, trial

HERE = machine.Machine(num_cores=2, memory_bytes=8_000_000_000, gpu=None)


@pytest.fixture
def settle(tmp_path):
    """Writes a table, drafts a recipe that predicts `label`, tries it; returns recipe and notes."""

    def run(header, rows, **answers):
        path = tmp_path / "rows.csv"
        path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
        survey = table_survey.survey_table(path)
        answers = {"label": "label", **answers}
        draft = tables.TableDraft(survey, path, name="rows", machine=HERE, **answers)
        settled = trial.settle(draft, tmp_path / "cache")
        values = toml_file.parse(settled.text, "the recipe")
        return config_errors.parse(Recipe, values, subject="the recipe"), settled.notes

    return run


def rows_of(num_rows, seed=0):
    generator = np.random.default_rng(seed)
    return [[f"{generator.normal():.5f}", int(generator.integers(2))] for _ in range(num_rows)]


def test_a_column_that_gives_the_answer_away_is_left_out_and_told(settle):
    rows = [[number, label * 2.5, label] for number, label in rows_of(400)]
    recipe, notes = settle("size,bonus,label", rows)
    assert list(recipe.data.table.columns) == ["size"]
    assert "left out: bonus gives the answer away nearly alone, says the data guard" in notes


def test_when_every_column_gives_the_answer_away_the_run_will_stop(settle):
    rows = [[label + 0.05 * float(number), label] for number, label in rows_of(400)]
    recipe, notes = settle("bonus,label", rows)
    assert list(recipe.data.table.columns) == ["bonus"]
    assert "the run will stop: Columns that each alone" in "\n".join(notes)


def test_no_larger_share_of_bad_rows_is_allowed_than_there_is(settle):
    rows = rows_of(400)
    rows[7][1] = rows[9][1] = ""
    recipe, notes = settle("size,label", rows)
    assert recipe.data.rejects.max_share == 0.005
    told = "2 of 400 cannot be used, such as rows.csv:11: it has no label; they are left out"
    assert told in notes


def test_too_many_bad_rows_are_refused(settle):
    rows = rows_of(400)
    for row in rows[:40]:
        row[1] = ""
    with pytest.raises(errors.RejectsError, match=r"at most 5.00% of 400 rows.*Received: 40"):
        settle("size,label", rows)


def test_a_rare_class_gets_a_seed_with_which_every_split_has_it(settle):
    rows = rows_of(100)
    for row in rows[::20]:
        row[1] = "rare"
    recipe, _ = settle("size,label", rows)
    assert recipe.seed > 0


def test_groups_that_hide_copies_are_split_by_content_instead(settle):
    generator = np.random.default_rng(0)
    texts = [" ".join(f"word{n}" for n in generator.integers(0, 500, 12)) for _ in range(400)]
    # Every third text is shown under each of two products.
    rows = [[f"p{n % 300}", texts[n % 400], n % 2] for n in range(600)]
    recipe, notes = settle("product,text,label", rows)
    assert recipe.data.splits.by == "hash"
    assert not any(note.startswith("the run will stop") for note in notes)
    kept = [[f"p{n % 200}", *row[1:]] for n, row in enumerate(rows)]
    assert settle("product,text,label", kept)[0].data.splits.by == "group"
