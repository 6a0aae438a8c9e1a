"""EngineRequest: everything that the engine process is told about a run.

The parent starts `python -m pipeline.engine` at once, so that its imports overlap with other work,
and writes one EngineRequest as JSON to its standard input when it is known; end of file ends it.
The same JSON lies in RUN/request.json, so `python -m pipeline.engine < RUN/request.json` repeats a
run by hand.

The engine answers with JSON lines (`components.progress.report`) on the descriptor that
`KERASLINE_PROGRESS_FD` names:

| event | fields |
|---|---|
| imports | seconds |
| step_started | step |
| rows | step, rows, and total where it is known |
| epoch | step, epoch (from 1), num_epochs, seconds, metrics (name -> float) |
| message | step, text |
| data_findings | step, findings (name, severity, sentence, examples, cure, accepted reason) |
| step_finished | step, seconds, cached (true if TFX's cache answered) |
| step_failed | step, sentence |
| gate_refused | step, sentence |
| result | metrics, reference, published_path, published_version, report_path, data_findings |

What does not exist is null. The metrics of `result` hold at least `accuracy`, `worst_class` (its
name) and `worst_class_accuracy`, or, where numbers are predicted, `mae`, `skill`, `simple` (what
the simple forecast is) and `simple_mae`, on the test split. A gate that refuses still sends
`result`, with
what is known by then. The exit status is 0 when the model is published, 3 when a gate refused, 130
after an interrupt, else 1.
"""

import pathlib
from typing import Any

import pydantic

from components.ingest.config import DataConfig
from components.trainer.config import TrainingConfig
from models.base_config import StrictConfig
from pipeline.config import Recipe, RunConfig


class StepFingerprint(StrictConfig):
    """What one step depends on, part by part, so that a change can be named.

    Attributes:
        digest: SHA-256 in hexadecimal over all parts and over the digests of the upstream steps.
        recipe: Dotted leaf key -> value of the recipe keys that the step reads.
        run: Key -> value of the run config keys that the step reads.
        code: Source file, relative to the project -> SHA-256 of its bytes.
        environment: Name -> value of what the environment contributes, such as the locked packages.
        data: Digest of the source's bytes; empty for a step that does not read them.
    """

    digest: str
    recipe: dict[str, Any] = pydantic.Field(default_factory=dict)
    run: dict[str, Any] = pydantic.Field(default_factory=dict)
    code: dict[str, str] = pydantic.Field(default_factory=dict)
    environment: dict[str, str] = pydantic.Field(default_factory=dict)
    data: str = ""


class PrefetchRequest(StrictConfig):
    """The data to prepare before the engine needs it, as `ingest.ingest` takes it.

    Attributes:
        training: The recipe's training, which the train split must suffice for.
        cache_dir: Absolute folder of prepared data.
        beam_options: Arguments of Apache Beam, which prepares the data if they name a runner.
    """

    data: DataConfig
    seed: int
    training: TrainingConfig
    cache_dir: str
    beam_options: tuple[str, ...] = ()


class EngineRequest(StrictConfig):
    """One run.

    Attributes:
        run_id: Unique within the root and the recipe, such as `20261130-191500-4f2a`.
        run_dir: Absolute folder of this run's log, summary and report.
        cache_dir: Absolute folder of prepared data, for `components.ingest.ingest.ingest`.
        fingerprints: Step name -> what it depends on.
        force: Run every step, whatever TFX's cache holds.
    """

    recipe: Recipe
    run_config: RunConfig
    run_id: str
    run_dir: str
    cache_dir: str
    fingerprints: dict[str, StepFingerprint]
    force: bool = False

    def digests(self) -> dict[str, str]:
        """Returns step name -> digest, as handed to the DAG's nodes."""
        return {name: fingerprint.digest for name, fingerprint in self.fingerprints.items()}


def read(path: pathlib.Path) -> EngineRequest | None:
    """Reads a RUN/request.json; None if there is none that this version can read."""
    try:
        return EngineRequest.model_validate_json(path.read_bytes())
    except (OSError, pydantic.ValidationError):
        return None
