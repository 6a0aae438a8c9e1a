"""RunSummary: what came of a run, as RUN/summary.json holds it and `--json` prints it."""

import json
import pathlib
from typing import Any, Literal

import pydantic

from models.base_config import StrictConfig
from pipeline.state import files

FILE_NAME = "summary.json"
Status = Literal["published", "up_to_date", "gate_refused", "failed", "interrupted"]


class Seconds(StrictConfig):
    """Wall-clock seconds of a run: the whole, the imports of the engine, and each step."""

    total: float
    imports: float | None = None
    steps: dict[str, float] = pydantic.Field(default_factory=dict)


class Published(StrictConfig):
    """A published model.

    Attributes:
        path: Folder of the SavedModel.
        version: Its number; higher is newer.
        files: File, relative to `path` -> SHA-256 of its bytes.
    """

    path: str
    version: int
    files: dict[str, str]


class RunSummary(StrictConfig):
    """One run.

    Attributes:
        recipe: Name of the recipe.
        run_id: The run; for `up_to_date`, the earlier run whose results stand.
        status: `published`, `up_to_date`, `gate_refused`, `failed` or `interrupted`.
        sentence: Why it did not publish, and what to do; empty when it did.
        run_dir: Absolute folder of the run.
        started_at: ISO 8601 time with zone.
        metrics: On the test split: `accuracy`, `worst_class`, `worst_class_accuracy`, or `mae`,
            `skill` and the simple forecast's `simple_mae`, and others.
        reference: A simple learner on the same test rows, where there is one: `name`, `metric`,
            `value`, the model's `gain` with its 95% `interval`, `verdict` and `sentence`.
        seconds: Where the time went.
        published: The published model, or None.
        report_path: The report, or None.
        data_findings: What the data guard found, each with its name, severity, sentence and cure,
            also of a run that it stopped.
        ask: Words that ask `kerasline predict` about a test example, such as `--image FILE`.
        fingerprints: Step -> digest of all that it depends on.
    """

    recipe: str
    run_id: str
    status: Status
    sentence: str = ""
    run_dir: str
    started_at: str
    metrics: dict[str, Any] = pydantic.Field(default_factory=dict)
    reference: dict[str, Any] | None = None
    seconds: Seconds
    published: Published | None = None
    report_path: str | None = None
    data_findings: list[dict[str, Any]] = pydantic.Field(default_factory=list)
    ask: tuple[str, ...] = ()
    fingerprints: dict[str, str] = pydantic.Field(default_factory=dict)

    def to_json(self) -> str:
        """Returns the summary as one JSON object in which every key is present."""
        return json.dumps(self.model_dump(mode="json"), indent=2)


def write(run_dir: pathlib.Path, summary: RunSummary) -> None:
    """Writes RUN/summary.json in one piece.

    Raises:
        OSError: If the disk is full or read-only.
    """
    files.write_atomically(run_dir / FILE_NAME, summary.to_json() + "\n")


def read(run_dir: pathlib.Path) -> RunSummary | None:
    """Reads RUN/summary.json; None if the run has none that this version can read."""
    try:
        return RunSummary.model_validate_json((run_dir / FILE_NAME).read_bytes())
    except (OSError, pydantic.ValidationError):
        return None
