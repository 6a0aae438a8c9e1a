"""The lines that end a run."""

from components.evaluator.config import EvaluationConfig
from pipeline.progress import closing
from pipeline.state.summary import Published, RunSummary, Seconds

EVALUATION = EvaluationConfig(min_accuracy=0.9, min_class_accuracy=0.75)


def _text(program="./kerasline", **fields):
    summary = RunSummary(
        recipe="digits",
        run_id="r",
        run_dir="/x/r",
        started_at="2026-11-30T00:00:00+00:00",
        seconds=Seconds(total=12.34),
        **fields,
    )
    again, serve = f"{program} run digits", f"{program} serve digits"
    return closing.text(summary, EVALUATION, again=again, serve=serve)


def test_published_run_ends_with_the_commands_to_serve_and_to_ask():
    published = Published(path="/x y/published/3", version=3, files={})
    lines = _text(status="published", published=published, ask=("--image", "/x/a.png")).splitlines()
    assert lines[0] == "Published version 3 of digits."
    assert "  ./kerasline serve digits" in lines
    assert "  ./kerasline predict --model '/x y/published' --image /x/a.png" in lines


def test_the_command_to_ask_starts_as_the_one_to_serve_does():
    published = Published(path="/x/published/3", version=3, files={})
    text = _text(program="'/my clone/kerasline'", status="published", published=published)
    assert "\n  '/my clone/kerasline' predict --model /x/published" in text


def test_metrics_stand_beside_what_they_had_to_reach():
    metrics = {"accuracy": 0.97591, "worst_class": "8", "worst_class_accuracy": 0.9166}
    text = _text(status="gate_refused", sentence="Too weak.", metrics=metrics)
    assert text.startswith("Refused: Too weak.")
    assert "0.9759 (at least 0.9)" in text
    assert "8 0.9166 (at least 0.75)" in text
    assert "serve" not in text


def test_interrupted_run_says_how_to_go_on():
    assert "to go on: ./kerasline run digits" in _text(status="interrupted")


def test_a_simple_learner_stands_beside_the_metrics():
    reference = {"sentence": "Trees do better on this table: use them."}
    text = _text(status="gate_refused", sentence="Too weak.", reference=reference)
    assert "  beside it    Trees do better on this table: use them." in text.splitlines()
