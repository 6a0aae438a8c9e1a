import json

import click.testing
import PIL.Image
import pytest

from pipeline.cli import data
from tests import text_recipe


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs `kerasline data preview digits` in an empty folder with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runner = click.testing.CliRunner()

    def invoke(*arguments, recipe="digits"):
        return runner.invoke(data.command, ["preview", recipe, *arguments])

    return invoke


def test_preview_writes_a_row_for_the_images_and_one_for_each_setting(run, tmp_path):
    result = run("--set", "input.augment.max_rotation_degrees=15.0", "-o", "sheet.png")
    assert (result.exit_code, result.output) == (0, "8 training examples -> sheet.png\n")
    assert PIL.Image.open(tmp_path / "sheet.png").size == (4 + 8 * 100, 2 * 116)


def test_rows_of_a_table_are_printed_beside_their_labels(run, tmp_path):
    lines = run(recipe="taxi").output.splitlines()
    assert len(lines) == 8
    label, _, row = lines[0].partition(": ")
    assert label in ("0", "1")
    assert "fare" in json.loads(row)
    assert not list(tmp_path.glob("*.png"))


def test_texts_are_printed_beside_their_labels(run, tmp_path):
    lines = run(recipe=str(text_recipe.write(tmp_path))).output.splitlines()
    assert {line.partition(": ")[0] for line in lines} == {"blame", "praise"}


def test_file_that_cannot_be_written_is_bad_input(run):
    result = run("-o", "none/sheet.png")
    assert result.exit_code == 2 and "cannot be written: No such file" in result.output


def test_source_that_cannot_be_used_is_bad_input(run):
    result = run("--set", "data.splits.test_share=0.0001")
    assert result.exit_code == 2 and "Expected examples" in result.output


def test_service_without_an_address_of_its_dispatcher_is_bad_input():
    arguments = ["service", "worker", "--dispatcher", "nowhere"]
    result = click.testing.CliRunner().invoke(data.command, arguments)
    assert result.exit_code == 2 and "HOST:PORT of its dispatcher" in result.output
