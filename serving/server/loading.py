"""Keeps disk and memory in step: versions are found, loaded, swapped in, drained, unloaded.

All state is changed on the event loop; loading and unloading happen on threads.
"""

import asyncio
import dataclasses
import logging
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures

from serving.export import manifest
from serving.server import batching, errors, loaded_model, metrics, rehearsal, storage, versions

_log = logging.getLogger("kerasline.serve")

# A folder that has not changed for this long is taken as finished without a second look.
_QUIET_NS = 2_000_000_000
# Versions that have ended stay in the status answer, up to this many.
_MAX_ENDED_VERSIONS = 32


@dataclasses.dataclass(frozen=True)
class LoaderOptions:
    """How versions are loaded and run."""

    load: loaded_model.LoadOptions = dataclasses.field(default_factory=loaded_model.LoadOptions)
    # None: join requests only for models that Kerasline exported, whose rows are independent.
    chosen_batching: batching.BatchingOptions | None = None
    default_batching: batching.BatchingOptions = dataclasses.field(
        default_factory=batching.BatchingOptions
    )
    num_load_threads: int = 1


class Loader:
    """Loads and unloads the versions of models, as their policies want it."""

    def __init__(
        self, options: LoaderOptions, counters: metrics.Metrics, rehearsals: rehearsal.Rehearsal
    ):
        """Starts the threads that load.

        Args:
            options: How.
            counters: Where runs of the graphs are counted.
            rehearsals: What each version goes through before it is available.
        """
        self._rehearsals = rehearsals
        self._options = options
        self._metrics = counters
        self._threads = futures.ThreadPoolExecutor(options.num_load_threads, "load")
        self._unloads: set[asyncio.Task] = set()

    async def close(self) -> None:
        """Waits until all that was unloaded is freed."""
        await asyncio.gather(*self._unloads)
        self._threads.shutdown()

    async def poll(self, model: versions.Model) -> None:
        """Looks at the disk once, and loads and unloads a model's versions accordingly."""
        try:
            on_disk = await asyncio.to_thread(storage.list_versions, model.config.base_path)
        except OSError as error:
            _log.warning("Model %s: %s", model.config.name, error)
            return
        wanted = model.config.policy.choose(on_disk)
        loads = []
        model.unsettled = False
        for number, directory in sorted(wanted.items()):
            version = model.versions.get(number)
            if version is not None and version.state in (
                versions.State.LOADING,
                versions.State.AVAILABLE,
            ):
                continue
            snapshot = await asyncio.to_thread(storage.take_snapshot, directory)
            before = model.snapshots.get(number)
            model.snapshots[number] = snapshot
            if version is not None and version.failed_snapshot == snapshot:
                continue
            quiet_since_ns = time.time_ns() - _QUIET_NS
            if storage.is_loadable(directory, snapshot, before, quiet_since_ns=quiet_since_ns):
                loads.append(self._load(model, number, directory, snapshot))
            else:
                model.unsettled = True
        await asyncio.gather(*loads)
        self._retire(model, wanted)

    def _retire(self, model: versions.Model, wanted: Mapping[int, pathlib.Path]) -> None:
        """Unloads unwanted versions, unless that would leave the model without any."""
        available = model.available()
        if any(version.number in wanted for version in available):
            self.unload([version for version in available if version.number not in wanted])
        ended = [n for n, v in sorted(model.versions.items()) if v.state is versions.State.END]
        for number in ended[:-_MAX_ENDED_VERSIONS]:
            del model.versions[number]
        for number in set(model.snapshots) - set(wanted):
            del model.snapshots[number]

    async def _load(
        self,
        model: versions.Model,
        number: int,
        directory: pathlib.Path,
        snapshot: storage.Snapshot,
    ) -> None:
        version = versions.Version(number, directory, versions.State.LOADING)
        model.versions[number] = version
        start = time.monotonic()
        loop = asyncio.get_running_loop()
        load = _loader(self._options.load, directory)
        try:
            version.model, version.facts = await loop.run_in_executor(self._threads, load)
        except Exception as error:
            # Whatever is wrong with one folder, the other versions go on serving.
            version.state = versions.State.END
            version.error = errors.ServingError(errors.Code.UNKNOWN, str(error).split("\n", 1)[0])
            version.failed_snapshot = snapshot
            _log.error("Model %s version %d: %s", model.config.name, number, version.error)
            return
        version.batcher = self._make_batcher(model.config.name, version)
        await self._rehearsals.play(model.config.name, version)
        version.state = versions.State.AVAILABLE
        _log.info(
            "Model %s version %d is available after %.2f s.",
            model.config.name,
            number,
            time.monotonic() - start,
        )

    def _make_batcher(self, name: str, version: versions.Version) -> batching.Batcher:
        options = self._options.chosen_batching
        if options is None:
            is_own = bool(version.facts)
            options = dataclasses.replace(self._options.default_batching, is_enabled=is_own)

        def on_run(seconds: float, num_rows: int) -> None:
            if version.state is not versions.State.LOADING:
                self._metrics.run_done(model_name=name, micros=seconds * 1e6, num_rows=num_rows)

        return batching.Batcher(version.model.run, options, name=f"run-{name}", on_run=on_run)

    def unload(self, unwanted: Sequence[versions.Version]) -> None:
        """Frees versions, each once the requests that it answers are done; returns at once."""
        for version in unwanted:
            if version.state is not versions.State.AVAILABLE:
                continue
            version.state = versions.State.UNLOADING
            if version.num_in_flight == 0:
                version.idle.set()
            task = asyncio.create_task(_drain_and_close(version))
            self._unloads.add(task)
            task.add_done_callback(self._unloads.discard)


def _loader(
    options: loaded_model.LoadOptions, directory: pathlib.Path
) -> Callable[[], tuple[loaded_model.LoadedModel, Mapping]]:
    def load() -> tuple[loaded_model.LoadedModel, Mapping]:
        manifest.check_files(directory)
        model = loaded_model.LoadedModel(directory, options)
        return model, manifest.read_manifest(directory) or {}

    return load


async def _drain_and_close(version: versions.Version) -> None:
    await version.idle.wait()
    await asyncio.to_thread(version.batcher.close)
    await asyncio.to_thread(version.model.close)
    version.state = versions.State.END
    del version.model, version.batcher
