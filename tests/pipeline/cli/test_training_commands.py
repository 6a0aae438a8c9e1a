"""The commands that train or measure without TFX, on digits, in one process."""

import json

import pytest

from pipeline import training
from pipeline.cli import main


@pytest.fixture(autouse=True, scope="module")
def cache_of_its_own(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("KERASLINE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()


def test_train_writes_a_model_and_a_second_call_has_nothing_left_to_do(tmp_path, capfd):
    words = ["train", "digits", "--out", str(tmp_path), "--set", "training.num_epochs=2"]
    assert main.main(words) == 0
    first = capfd.readouterr().out
    assert "epoch 2/2  loss" in first
    assert (tmp_path / training.KERAS_MODEL_FILE).exists()
    log = (tmp_path / "log.jsonl").read_text()
    assert main.main(words) == 0
    second = capfd.readouterr().out
    assert "goes on from the checkpoint of step" in second
    assert "epoch" not in second
    assert (tmp_path / "log.jsonl").read_text() == log


def test_changed_recipe_in_the_same_folder_is_bad_input_and_fresh_mends_it(tmp_path, capfd):
    words = ["train", "digits", "--out", str(tmp_path), "--set", "training.num_epochs=1"]
    assert main.main(words) == 0
    changed = [*words, "--set", "seed=8"]
    assert main.main(changed) == 2
    assert "seed (7 then, 8 now)" in capfd.readouterr().err
    assert main.main([*changed, "--fresh"]) == 0


def test_fast_dev_run_keeps_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = ["train", "digits", "--fast-dev-run", "--set", "training.early_stopping={}"]
    assert main.main(words) == 0
    assert "Every part ran on one batch" in capfd.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_batch_larger_than_the_data_is_bad_input(tmp_path, capfd):
    words = ["train", "digits", "--out", str(tmp_path / "new")]
    assert main.main([*words, "--set", "training.global_batch_size=5000"]) == 2
    assert "global_batch_size=5000" in capfd.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--set", "training.accumulation_steps=3"],
            "`accumulation_steps` must divide the batch. Received: accumulation_steps=3, "
            "global_batch_size=64.",
        ),
        (
            ["--set", "training.schedule={name='cosine', warmup_steps=100000}"],
            "Received: warmup_steps=100000, run=",
        ),
        (
            ["--set", "training.schedule={name='cosine', plateau={}}"],
            "needs name='reduce_on_plateau'. Received: name='cosine'.",
        ),
        (
            ["--strategy", "mirrored", "--set", "training.jit_compile=true"],
            "Received: jit_compile = true, strategy = 'mirrored'.",
        ),
        (
            ["--strategy", "multi_worker_mirrored"],
            "Received: TF_CONFIG=None.",
        ),
    ],
)
def test_contradictions_are_bad_input_and_leave_nothing(
    tmp_path, capfd, monkeypatch, words, message
):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert main.main(["train", "digits", "--out", str(tmp_path / "new"), *words]) == 2
    assert message in capfd.readouterr().err
    assert not (tmp_path / "new").exists()


def test_estimate_says_what_it_adds_up_and_that_it_fits(capfd):
    assert main.main(["estimate", "digits"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "parameters",
        "gradients",
        "optimizer",
        "activations",
        "total",
        "available",
    ]


def test_event_lines_are_for_people():
    metrics = {"loss": 1, "accuracy": 0.5, "val_loss": 1, "val_accuracy": 0.5, "rows_per_sec": 9e3}
    event = {"event": "epoch", "epoch": 1, "num_epochs": 2, "seconds": 1.5, "metrics": metrics}
    assert training.event_line(event).startswith("epoch 1/2  loss 1.0000  accuracy 0.5000")
    assert training.event_line({"event": "rows", "rows": 5}) == ""


def test_printed_events_arrive_before_the_body_is_left(monkeypatch):
    from components import progress

    monkeypatch.delenv("KERASLINE_PROGRESS_FD", raising=False)
    lines = []
    with training.printed_events(lines.append):
        progress.report("message", text=json.dumps("one"))
    progress.report("message", text="unheard")
    assert lines == ['"one"']


def test_data_service_without_a_port_is_bad_input(capfd):
    assert main.main(["train", "digits", "--data-service", "nowhere"]) == 2
    assert "Received: --data-service=nowhere" in capfd.readouterr().err


def test_profile_of_the_input_names_each_stage_and_draws_them(tmp_path, capfd):
    picture = tmp_path / "input.png"
    words = ["profile", "digits", "--input", "--picture", str(picture)]
    assert main.main([*words, "--set", "input.augment.max_translation_px=1"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["order", "read", "augment", "prefetch"]
    assert picture.exists()


def test_training_learns_from_mixed_examples(tmp_path, capfd):
    words = ["train", "digits", "--out", str(tmp_path), "--set", "training.num_epochs=6"]
    mixed = ["--set", "input.augment.mixup_alpha=0.2", "--set", "training.label_smoothing=0.1"]
    assert main.main([*words, *mixed]) == 0
    last = capfd.readouterr().out.splitlines()[-2].split()
    assert float(last[last.index("val_accuracy") + 1]) > 0.8
