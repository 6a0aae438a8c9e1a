"""Runs the child processes of one run: hands them the request, shows progress, sums up.

The engine imports TensorFlow and runs the DAG; beside it a process prepares the data. This process
stays light.
"""

import datetime
import pathlib
import re
import shutil
import signal
import sys
import time
from typing import Any

from components.ingest import errors, ingest
from pipeline import children, example_input
from pipeline.config import Recipe, RunConfig
from pipeline.progress import board as board_module
from pipeline.progress import display as display_module
from pipeline.state import assess, files, steps, workspace
from pipeline.state import summary as summary_module
from pipeline.state.request import EngineRequest, PrefetchRequest
from pipeline.state.summary import Published, RunSummary, Seconds

ENGINE_MODULE = "pipeline.engine"
PREFETCH_MODULE = "pipeline.prefetch"
ENGINE_LOG = "engine.log"
INGEST_LOG = "ingest.log"
_ERROR_LINE = re.compile(r"^(?:[\w.]+\.)?(?P<kind>\w*(?:Error|Exception)): (?P<sentence>.+)")


class EngineRun:
    """One run in its folder."""

    def __init__(
        self,
        recipe: Recipe,
        run_config: RunConfig,
        place: workspace.Workspace,
        *,
        force: bool,
        started: float,
    ):
        self.recipe = recipe
        self.run_config = run_config
        self.place = place
        self.force = force
        self.started = started
        self.started_at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self.run_id = workspace.new_run_id()
        self.run_dir = place.run_dir(self.run_id)
        self.board = board_module.Board(num_steps=len(steps.of(recipe.data.input_name)))
        self.request: EngineRequest | None = None
        self.request_json = ""
        self.data_is_here = False

    def summary(self) -> RunSummary:
        """Runs and writes the summary.

        Raises:
            components.ingest.errors.DataError: If the recipe and its source do not fit together;
                nothing is left behind.
        """
        self.run_dir.mkdir()
        try:
            status, sentence = self._work()
        except BaseException as error:
            if self.request is None or isinstance(error, errors.DataError):
                # Nothing was begun, so nothing is left behind.
                shutil.rmtree(self.run_dir, ignore_errors=True)
            raise
        summary = self._summarise(status, sentence)
        summary_module.write(self.run_dir, summary)
        return summary

    def _work(self) -> tuple[summary_module.Status, str]:
        try:
            with children.Children() as started:
                try:
                    returncode = self._converse(started)
                except KeyboardInterrupt:
                    print("Saving what is done. Ctrl-C again ends at once.", file=sys.stderr)
                    raise
        except KeyboardInterrupt:
            if self.request is None:
                raise
            return "interrupted", "Interrupted. What is done is kept: run again to go on."
        finally:
            self.board.stop()
        if self.board.refused:
            return "gate_refused", self.board.sentence
        if returncode == 0 and self.board.result.get("published_path"):
            return "published", ""
        return "failed", self.board.sentence or self._reason(returncode)

    def _converse(self, started: children.Children) -> int:
        """Starts the children, shows what they tell, and returns the engine's exit status."""
        engine = started.start(ENGINE_MODULE, self.run_dir / ENGINE_LOG)
        ahead = started.start(PREFETCH_MODULE, self.run_dir / INGEST_LOG)
        children.give(ahead, self._prefetch_request())
        self._write_request()
        with display_module.for_stream(self.board) as display:
            self._tell(display, {"event": "engine_started"})
            if self.data_is_here:
                children.give(engine, self.request_json)
            for event in started.events(engine):
                self._tell(display, event)
                if event.get("event") == "prefetch_failed":
                    # The engine need not finish its imports.
                    if event["bad_recipe"]:
                        raise errors.BadRecipeError(event["sentence"])
                    return 1
                if event.get("event") == "prefetched" and not self.data_is_here:
                    # Now the fingerprints can cover the data that was fetched.
                    self._write_request()
                    children.give(engine, self.request_json)
        return engine.wait()

    def _tell(self, display: display_module.Display, event: dict[str, Any]) -> None:
        changed = self.board.apply(event)
        if changed is not None:
            display.changed(changed, event)

    def _prefetch_request(self) -> str:
        return PrefetchRequest(
            data=self.recipe.data,
            seed=self.recipe.seed,
            training=self.recipe.training,
            cache_dir=str(assess.cache_dir()),
            beam_options=self.run_config.beam_options,
        ).model_dump_json(exclude_none=True)

    def _write_request(self) -> None:
        assessment = assess.assess(self.recipe, self.run_config, self.place)
        self.data_is_here = assessment.data_is_here
        self.request = EngineRequest(
            recipe=self.recipe,
            run_config=self.run_config,
            run_id=self.run_id,
            run_dir=str(self.run_dir),
            cache_dir=str(assess.cache_dir()),
            fingerprints=assessment.fingerprints,
            force=self.force,
        )
        self.request_json = self.request.model_dump_json(exclude_none=True)
        path = self.run_dir / workspace.REQUEST_FILE_NAME
        files.write_atomically(path, self.request_json + "\n")

    def _summarise(self, status: summary_module.Status, sentence: str) -> RunSummary:
        result, lines = self.board.result, self.board.lines
        published = _published(result) if status == "published" else None
        imports = lines.get(board_module.IMPORTS)
        return RunSummary(
            recipe=self.recipe.name,
            run_id=self.run_id,
            status=status,
            sentence=sentence,
            run_dir=str(self.run_dir),
            started_at=self.started_at,
            metrics=result.get("metrics") or {},
            reference=result.get("reference"),
            seconds=Seconds(
                total=round(time.monotonic() - self.started, 3),
                imports=round(imports.seconds, 3) if imports and imports.seconds else None,
                steps=self.board.seconds(),
            ),
            published=published,
            report_path=result.get("report_path"),
            data_findings=result.get("data_findings") or self.board.data_findings,
            ask=self._ask_words() if published else (),
            fingerprints=self.request.digests() if self.request else {},
        )

    def _ask_words(self) -> tuple[str, ...]:
        # The dataset is in the cache, so this only finds it.
        dataset = ingest.ingest(
            self.recipe.data, seed=self.recipe.seed, cache_dir=assess.cache_dir()
        )
        return tuple(example_input.ask_words(self.recipe.data, dataset.path, self.run_dir))

    def _reason(self, returncode: int) -> str:
        log = self.run_dir / ENGINE_LOG
        if returncode == -signal.SIGKILL:
            return (
                "The engine was killed, probably for want of memory. Lower "
                f"training.global_batch_size, or close other programs. Log: {log}."
            )
        return f"{last_error(log.read_text(encoding='utf-8', errors='replace'))} Log: {log}."


def last_error(log: str) -> str:
    """The sentence of the last exception in a log, or its last line.

    >>> last_error("Traceback ...\\n  x\\nValueError: The file is empty.\\nleft over")
    'The file is empty.'
    >>> last_error("KeyError: 'loss'")
    "KeyError: 'loss'."
    >>> last_error("")
    'The engine ended without a word.'
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [found for line in lines if (found := _ERROR_LINE.match(line))]
    if errors:
        sentence = errors[-1]["sentence"]
        # An error that is no sentence says little without its kind, as KeyError does.
        return sentence if sentence.endswith(".") else f"{errors[-1]['kind']}: {sentence}."
    return lines[-1] if lines else "The engine ended without a word."


def _published(result: dict[str, Any]) -> Published:
    path = pathlib.Path(result["published_path"])
    return Published(
        path=str(path), version=int(result["published_version"]), files=files.digest_tree(path)
    )
