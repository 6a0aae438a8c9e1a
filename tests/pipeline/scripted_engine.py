"""An engine process that tells what a script says, to test the parent without TensorFlow.

The recipe's description holds the script: a name from `SCRIPTS`.
"""

import json
import os
import pathlib
import signal
import sys
import time

from components import progress


def _publish(request):
    path = pathlib.Path(request["run_config"]["root"], request["recipe"]["name"], "published", "1")
    path.mkdir(parents=True, exist_ok=True)
    (path / "saved_model.pb").write_bytes(b"model")
    report = pathlib.Path(request["run_dir"], "report.html")
    report.touch()
    for step in request["fingerprints"]:
        artifact = path.parents[1] / "artifacts" / step / "1" / "output"
        artifact.parent.mkdir(parents=True, exist_ok=True)
        artifact.touch()
    progress.report(
        "result",
        metrics={"accuracy": 0.95, "worst_class": "8", "worst_class_accuracy": 0.9},
        published_path=str(path),
        published_version=1,
        report_path=str(report),
    )
    return 0


def _refuse(request):
    progress.report("step_started", step="evaluation_gate")
    progress.report("gate_refused", step="evaluation_gate", sentence="Accuracy 0.5 is too low.")
    progress.report("step_failed", step="evaluation_gate", sentence="RuntimeError: wrapped")
    return 3


def _stop_at_the_guard(request):
    progress.report("step_started", step="data_guard")
    findings = [{"name": "exact_leaks", "severity": "stop", "examples": [["a.png", "b.png"]]}]
    progress.report("data_findings", step="data_guard", findings=findings)
    progress.report("gate_refused", step="data_guard", sentence="One image leaks.")
    progress.report("result", metrics={}, published_path=None, report_path=None, data_findings=[])
    return 3


def _raise(request):
    raise ValueError("The loss is not finite.")


def _die(request):
    os.kill(os.getpid(), signal.SIGKILL)


def _hang(request):
    progress.report("step_started", step="trainer")
    pathlib.Path(request["run_dir"], "pid").write_text(str(os.getpid()))
    for _ in range(600):
        time.sleep(0.1)
    return 1


def _ignore_interrupts(request):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return _hang(request)


SCRIPTS = {
    "publish": _publish,
    "refuse": _refuse,
    "stop at the guard": _stop_at_the_guard,
    "raise": _raise,
    "die": _die,
    "hang": _hang,
    "ignore interrupts": _ignore_interrupts,
}


def main():
    progress.report("imports", seconds=0.5)
    request = json.load(sys.stdin)
    progress.report("step_started", step="ingest")
    progress.report("step_finished", step="ingest", seconds=0.1, cached=False)
    progress.report("step_started", step="trainer")
    progress.report(
        "epoch", step="trainer", epoch=1, num_epochs=2, seconds=0.1, metrics={"loss": 0.25}
    )
    progress.report("step_finished", step="trainer", seconds=0.2, cached=True)
    return SCRIPTS[request["recipe"]["description"]](request)


if __name__ == "__main__":
    sys.exit(main())
