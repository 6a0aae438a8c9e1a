"""Checks a run's course, with an engine that follows a script in place of TensorFlow."""

import json
import pathlib
import signal
import subprocess
import sys
import time

import PIL.Image
import pytest

from pipeline import engine_run
from pipeline.cli import main

# Generous, because the machine may be busy with other tests; nothing waits for it to pass.
_DEADLINE_SECS = 180.0


@pytest.fixture(autouse=True)
def _own_cache(cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))


@pytest.fixture
def kerasline(tmp_path, monkeypatch, capsys):
    """Runs `kerasline WORDS` on the digits recipe; returns status, standard output and error."""
    monkeypatch.setattr(engine_run, "ENGINE_MODULE", "tests.pipeline.scripted_engine")

    def call(command, script, *words):
        status = main.main(
            [command, "digits", "--root", str(tmp_path), "--set", f"description={script}", *words]
        )
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def _summaries(root):
    return [json.loads(path.read_text()) for path in root.glob("digits/*/summary.json")]


def test_a_published_run_ends_with_status_0_and_the_next_commands(kerasline, tmp_path):
    status, out, _ = kerasline("run", "publish")
    assert status == 0
    assert "Published version 1 of digits." in out
    assert f"kerasline serve digits --root {tmp_path}" in out
    example = next(tmp_path.glob("digits/*/example.png"))
    assert f"kerasline predict --model {tmp_path}/digits/published --image {example}" in out


def test_the_example_is_an_image_of_the_recipes_size(kerasline, tmp_path):
    kerasline("run", "publish")
    with PIL.Image.open(next(tmp_path.glob("digits/*/example.png"))) as image:
        assert image.size == (8, 8)


def test_the_worst_class_is_named(kerasline):
    assert "worst class  8 0.9000 (at least 0.75)" in kerasline("run", "publish")[1]


def test_json_is_one_object_alone_and_the_same_as_the_file(kerasline, tmp_path):
    status, out, _ = kerasline("run", "publish", "--json")
    assert status == 0
    assert [json.loads(out)] == _summaries(tmp_path)


def test_the_summary_holds_what_the_engine_told(kerasline):
    summary = json.loads(kerasline("run", "publish", "--json")[1])
    assert summary["metrics"]["accuracy"] == 0.95
    assert summary["seconds"]["imports"] == 0.5
    assert summary["seconds"]["steps"]["ingest"] >= 0.1
    assert summary["seconds"]["steps"]["trainer"] == 0.2
    assert summary["published"]["version"] == 1


def test_progress_is_told_line_by_line_on_standard_error(kerasline):
    assert "Train the model: epoch 1 of 2, loss 0.2500" in kerasline("run", "publish")[2]


def test_an_unchanged_second_run_starts_nothing(kerasline, tmp_path):
    kerasline("run", "publish")
    status, out, err = kerasline("run", "publish")
    assert (status, err) == (0, "")
    assert "Nothing changed since version 1 of digits was published" in out
    assert len(_summaries(tmp_path)) == 1


def test_an_unchanged_second_run_prints_the_same_shape(kerasline):
    first = json.loads(kerasline("run", "publish", "--json")[1])
    second = json.loads(kerasline("run", "publish", "--json")[1])
    assert second["status"] == "up_to_date"
    assert second.keys() == first.keys()
    assert second["metrics"] == first["metrics"]


def test_force_runs_all_the_same(kerasline, tmp_path):
    kerasline("run", "publish")
    kerasline("run", "publish", "--force")
    assert len(_summaries(tmp_path)) == 2


def test_an_altered_model_makes_it_run_again(kerasline, tmp_path):
    kerasline("run", "publish")
    (tmp_path / "digits/published/1/saved_model.pb").write_bytes(b"altered")
    assert "Published version" in kerasline("run", "publish")[1]


def test_a_changed_key_makes_it_run_again(kerasline):
    kerasline("run", "publish")
    assert "Published version" in kerasline("run", "publish", "--set", "seed=3")[1]


def test_a_refusing_gate_ends_with_status_3_and_its_sentence(kerasline, tmp_path):
    status, out, _ = kerasline("run", "refuse")
    assert status == 3
    assert "Refused: Accuracy 0.5 is too low." in out
    assert [found["status"] for found in _summaries(tmp_path)] == ["gate_refused"]


def test_what_the_guard_stopped_for_is_in_the_summary(kerasline, tmp_path):
    kerasline("run", "stop at the guard")
    (summary,) = _summaries(tmp_path)
    (finding,) = summary["data_findings"]
    assert (summary["status"], finding["name"]) == ("gate_refused", "exact_leaks")
    assert finding["examples"] == [["a.png", "b.png"]]


def test_a_failure_ends_with_status_1_its_sentence_and_the_log(kerasline):
    status, out, _ = kerasline("run", "raise")
    assert status == 1
    assert "Failed: The loss is not finite. Log: " in out


def test_a_killed_engine_is_told_as_want_of_memory(kerasline):
    status, out, _ = kerasline("run", "die")
    assert status == 1
    assert "killed, probably for want of memory. Lower training.global_batch_size" in out


def test_unusable_data_ends_the_run_without_waiting_for_the_engine(kerasline):
    names = 'data.label.class_names=["0", "1"]'
    status, out, _ = kerasline("run", "hang", "--set", names)
    assert status == 1
    assert "Failed: " in out
    assert "class_names" in out


def test_a_batch_larger_than_the_data_is_refused_before_training(kerasline):
    status, _, err = kerasline("run", "hang", "--set", "training.global_batch_size=5000")
    assert status == 2
    assert "kerasline: recipe digits: Expected training.global_batch_size to be at most" in err


def test_a_warmup_longer_than_the_training_is_refused_before_training(kerasline):
    status, _, err = kerasline(
        "run", "hang", "--set", "training.schedule={name='cosine', warmup_steps=100000}"
    )
    assert status == 2
    assert "Received: warmup_steps=100000, run=" in err


def test_explain_names_what_changed(kerasline):
    kerasline("run", "publish")
    status, out, _ = kerasline("explain", "publish", "--set", "training.num_epochs=3")
    assert status == 0
    assert "trainer          would run: training.num_epochs changed: 20 -> 3" in out
    assert "ingest           unchanged" in out


def test_explain_says_when_nothing_would_run(kerasline):
    kerasline("run", "publish")
    assert kerasline("explain", "publish")[1].endswith("Nothing would run.\n")


def test_explain_prints_json_on_demand(kerasline):
    steps = json.loads(kerasline("explain", "publish", "--json")[1])["steps"]
    assert steps["ingest"] == ["it has not run yet"]


def _start(root, script):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.scripted_main", "run", "digits"]
        + ["--root", str(root), "--set", f"description={script}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=pathlib.Path(__file__).parents[2],
        start_new_session=True,
    )


def _wait_for(condition):
    deadline = time.monotonic() + _DEADLINE_SECS
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("The condition did not come true in time.")


def _engine_pid(root):
    texts = [path.read_text() for path in root.glob("digits/*/pid")]
    return int(texts[0]) if texts and texts[0] else None


def _has_ended(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_children_with_status_130(tmp_path, number):
    parent = _start(tmp_path, "hang")
    engine = _wait_for(lambda: _engine_pid(tmp_path))
    parent.send_signal(number)
    out, _ = parent.communicate(timeout=_DEADLINE_SECS)
    assert parent.returncode == 130
    assert "Interrupted. What is done is kept; to go on: kerasline run digits" in out
    assert _has_ended(engine)
    assert [found["status"] for found in _summaries(tmp_path)] == ["interrupted"]


def test_a_second_interrupt_ends_an_engine_that_ignores_the_first(tmp_path):
    parent = _start(tmp_path, "ignore interrupts")
    engine = _wait_for(lambda: _engine_pid(tmp_path))
    parent.send_signal(signal.SIGINT)
    time.sleep(0.5)
    parent.send_signal(signal.SIGINT)
    parent.communicate(timeout=_DEADLINE_SECS)
    assert parent.returncode == 130
    assert _has_ended(engine)


@pytest.mark.skipif(sys.platform != "linux", reason="the tie to the parent is Linux's")
def test_the_engine_dies_with_a_killed_parent(tmp_path):
    parent = _start(tmp_path, "hang")
    engine = _wait_for(lambda: _engine_pid(tmp_path))
    parent.kill()
    parent.communicate(timeout=_DEADLINE_SECS)
    assert _wait_for(lambda: _has_ended(engine))


def test_a_killed_run_does_not_lock_the_next_one_out(tmp_path):
    parent = _start(tmp_path, "hang")
    _wait_for(lambda: _engine_pid(tmp_path))
    parent.kill()
    parent.communicate(timeout=_DEADLINE_SECS)
    again = _start(tmp_path, "publish")
    again.communicate(timeout=_DEADLINE_SECS)
    assert again.returncode == 0


def test_two_runs_at_once_in_one_root_are_refused(tmp_path):
    first = _start(tmp_path, "hang")
    try:
        _wait_for(lambda: _engine_pid(tmp_path))
        second = _start(tmp_path, "publish")
        _, err = second.communicate(timeout=_DEADLINE_SECS)
        assert second.returncode == 1
        assert f"Another run is at work in {tmp_path}/digits (process {first.pid})" in err
    finally:
        first.kill()
        first.communicate(timeout=_DEADLINE_SECS)


def test_a_root_that_cannot_be_written_is_refused_before_work(tmp_path):
    (tmp_path / "digits").touch()
    run = _start(tmp_path, "publish")
    _, err = run.communicate(timeout=_DEADLINE_SECS)
    assert run.returncode == 1
    assert f"Cannot write to {tmp_path}/digits" in err


def test_bad_input_leaves_nothing_behind(kerasline, tmp_path):
    assert kerasline("run", "publish", "--set", "seed=x")[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_images_of_another_size_are_refused_before_work(kerasline, tmp_path):
    status, _, err = kerasline("run", "publish", "--set", "data.image.height_px=9")
    assert status == 2
    assert "Expected images of 9 x 8 px with 1 channels, as data.image says." in err
    assert list(tmp_path.glob("digits/*/summary.json")) == []
