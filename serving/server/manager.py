"""The life of model versions: found on disk, loaded, warmed, swapped in, drained, unloaded.

All state is changed on the event loop; loading and unloading happen on threads.
"""

import asyncio
import contextlib
import dataclasses
import enum
import logging
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures

from serving.export import manifest
from serving.server import batching, errors, loaded_model, metrics, model_configs, storage

_log = logging.getLogger("kerasline.serve")

# A folder that has not changed for this long is taken as finished without a second look.
_QUIET_NS = 2_000_000_000
# At the start and after a new configuration, an unfinished folder is looked at again so often.
_SETTLE_LOOKS = 5
_SETTLE_SECS = 0.5
# Versions that have ended stay in the status answer, up to this many.
_MAX_ENDED_VERSIONS = 32


class State(enum.IntEnum):
    """The states of TF Serving's ModelVersionStatus."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclasses.dataclass(eq=False)
class Version:
    """One version of one model."""

    number: int
    directory: pathlib.Path
    state: State = State.START
    error: errors.ServingError | None = None
    # There while the version is available or unloading.
    model: loaded_model.LoadedModel = dataclasses.field(init=False, repr=False)
    batcher: batching.Batcher = dataclasses.field(init=False, repr=False)
    num_in_flight: int = 0
    idle: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    failed_snapshot: storage.Snapshot | None = None
    facts: Mapping = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False)
class _Model:
    config: model_configs.ModelConfig
    versions: dict[int, Version] = dataclasses.field(default_factory=dict)
    snapshots: dict[int, storage.Snapshot] = dataclasses.field(default_factory=dict)
    labels: dict[str, int] = dataclasses.field(default_factory=dict)
    unsettled: bool = False  # A wanted version looks as if it were being copied.

    def available(self) -> list[Version]:
        return [
            version
            for _, version in sorted(self.versions.items())
            if version.state is State.AVAILABLE
        ]


@dataclasses.dataclass(frozen=True)
class ManagerOptions:
    """How versions are loaded."""

    engine: loaded_model.Engine = "auto"
    check_tf1_shapes: bool = False
    # None: join requests only for models that Kerasline exported, whose rows are independent.
    chosen_batching: batching.BatchingOptions | None = None
    default_batching: batching.BatchingOptions = dataclasses.field(
        default_factory=batching.BatchingOptions
    )
    warm_up: bool = True
    num_load_threads: int = 1
    allow_labels_for_unavailable_versions: bool = False


class Manager:
    """Keeps the wanted versions of the configured models loaded."""

    def __init__(self, options: ManagerOptions, counters: metrics.Metrics):
        self._options = options
        self._metrics = counters
        self._models: dict[str, _Model] = {}
        self._lock = asyncio.Lock()
        self._loaders = futures.ThreadPoolExecutor(options.num_load_threads, "load")
        self._unloads: set[asyncio.Task] = set()

    @property
    def model_names(self) -> list[str]:
        """The configured models' names, in order."""
        return sorted(self._models)

    async def apply(self, configs: Sequence[model_configs.ModelConfig]) -> None:
        """Replaces the whole configuration: loads what is new, unloads what is gone.

        A model with another base path than before is loaded from there first, and then takes over.

        Raises:
            ServingError: FAILED_PRECONDITION if nothing could be loaded from a new base path, or a
                label names a version that is not available; the other changes are made.
        """
        async with self._lock:
            wanted = {config.name: config for config in configs}
            for name in set(self._models) - set(wanted):
                self._unload(list(self._models.pop(name).versions.values()))
            moved = {}
            for name, config in wanted.items():
                model = self._models.setdefault(name, _Model(config))
                if model.config.base_path == config.base_path:
                    model.config = config
                else:
                    moved[name] = _Model(config)
            await self._poll_until_settled([*self._models.values(), *moved.values()])
            self._replace(moved)
            self._assign_labels(wanted)
            for name, model in self._models.items():
                if not model.available():
                    _log.warning("Model %s has no version in %s.", name, model.config.base_path)

    async def poll(self) -> None:
        """Looks at the disk once, and loads and unloads accordingly."""
        async with self._lock:
            await self._poll_all(list(self._models.values()))

    @contextlib.contextmanager
    def use(self, name: str, *, version: int | None = None, label: str = "") -> Iterator[Version]:
        """Gives an available version that stays loaded until the block ends.

        Args:
            name: The model's name.
            version: The version; None: the one that `label` names, or the latest.
            label: A version label; empty: none.

        Raises:
            ServingError: NOT_FOUND or INVALID_ARGUMENT, in TF Serving's words.
        """
        found = self.find(name, version=version, label=label)
        found.num_in_flight += 1
        try:
            yield found
        finally:
            found.num_in_flight -= 1
            if found.num_in_flight == 0 and found.state is State.UNLOADING:
                found.idle.set()

    def find(self, name: str, *, version: int | None = None, label: str = "") -> Version:
        """Returns an available version; see `use`."""
        model = self._models.get(name)
        if label:
            if model is None or label not in model.labels:
                raise errors.invalid(f"Unrecognized servable version label: {label}")
            version = model.labels[label]
        available = model.available() if model else []
        if version is not None:
            available = [each for each in available if each.number == version]
        if not available:
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise errors.ServingError(
                errors.Code.NOT_FOUND, f"Servable not found for request: {wanted}"
            )
        return available[-1]

    def has_available(self, name: str) -> bool:
        """Tells whether a model can answer now."""
        model = self._models.get(name)
        return model is not None and bool(model.available())

    def statuses(self, name: str, *, version: int | None = None, label: str = "") -> list[Version]:
        """Returns the versions of a model in any state, the newest first.

        Raises:
            ServingError: NOT_FOUND or INVALID_ARGUMENT, in TF Serving's words.
        """
        model = self._models.get(name)
        if label:
            if model is None or label not in model.labels:
                raise errors.invalid(f"Unrecognized servable version label: {label}")
            version = model.labels[label]
        versions = model.versions if model else {}
        if version is not None:
            versions = {number: each for number, each in versions.items() if number == version}
        if not versions:
            what = "any versions" if version is None else f"version {version}"
            raise errors.ServingError(
                errors.Code.NOT_FOUND, f"Could not find {what} of model {name}"
            )
        return [each for _, each in sorted(versions.items(), reverse=True)]

    def labels(self, name: str) -> dict[str, int]:
        """Returns the version labels of a configured model."""
        return dict(self._models[name].labels)

    def config(self, name: str) -> model_configs.ModelConfig | None:
        """Returns a model's config, or None if it is not configured."""
        model = self._models.get(name)
        return model.config if model else None

    async def close(self) -> None:
        """Unloads everything, once requests in flight are answered."""
        async with self._lock:
            for model in self._models.values():
                self._unload(list(model.versions.values()))
            self._models.clear()
        await asyncio.gather(*self._unloads)
        self._loaders.shutdown()

    async def _poll_until_settled(self, models: Sequence[_Model]) -> None:
        """Polls, and again for a short while as long as a model's only version looks unfinished."""
        for _ in range(_SETTLE_LOOKS):
            await self._poll_all(models)
            if all(not model.unsettled or model.available() for model in models):
                return
            await asyncio.sleep(_SETTLE_SECS)

    async def _poll_all(self, models: Sequence[_Model]) -> None:
        await asyncio.gather(*[self._poll_model(model) for model in models])

    def _replace(self, moved: Mapping[str, _Model]) -> None:
        """Lets models that were loaded from a new base path take over."""
        failed = []
        for name, model in moved.items():
            old = self._models[name]
            if old.available() and not model.available():
                failed.append(name)
                continue
            self._models[name] = model
            self._unload(list(old.versions.values()))
        if failed:
            raise errors.ServingError(
                errors.Code.FAILED_PRECONDITION,
                f"Nothing could be loaded from the new base path of {', '.join(sorted(failed))}; "
                "what was loaded before goes on serving",
            )

    async def _poll_model(self, model: _Model) -> None:
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
            if version is not None and version.state in (State.LOADING, State.AVAILABLE):
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

    def _retire(self, model: _Model, wanted: Mapping[int, pathlib.Path]) -> None:
        """Unloads unwanted versions, unless that would leave the model without any."""
        available = model.available()
        if any(version.number in wanted for version in available):
            self._unload([version for version in available if version.number not in wanted])
        ended = [n for n, v in sorted(model.versions.items()) if v.state is State.END]
        for number in ended[:-_MAX_ENDED_VERSIONS]:
            del model.versions[number]
        for number in set(model.snapshots) - set(wanted):
            del model.snapshots[number]

    async def _load(
        self, model: _Model, number: int, directory: pathlib.Path, snapshot: storage.Snapshot
    ) -> None:
        version = Version(number, directory, State.LOADING)
        model.versions[number] = version
        start = time.monotonic()
        loop = asyncio.get_running_loop()
        load = _loader(self._options, directory)
        try:
            version.model, version.facts = await loop.run_in_executor(self._loaders, load)
        except Exception as error:
            # Whatever is wrong with one folder, the other versions go on serving.
            version.state = State.END
            version.error = errors.ServingError(errors.Code.UNKNOWN, str(error).split("\n", 1)[0])
            version.failed_snapshot = snapshot
            _log.error("Model %s version %d: %s", model.config.name, number, version.error)
            return
        version.batcher = self._make_batcher(model.config.name, version)
        version.state = State.AVAILABLE
        _log.info(
            "Model %s version %d is available after %.2f s.",
            model.config.name,
            number,
            time.monotonic() - start,
        )

    def _make_batcher(self, name: str, version: Version) -> batching.Batcher:
        options = self._options.chosen_batching
        if options is None:
            is_own = bool(version.facts)
            options = dataclasses.replace(self._options.default_batching, is_enabled=is_own)

        def on_run(seconds: float, num_rows: int) -> None:
            self._metrics.run_done(model_name=name, micros=seconds * 1e6, num_rows=num_rows)

        return batching.Batcher(version.model.run, options, name=f"run-{name}", on_run=on_run)

    def _unload(self, versions: Sequence[Version]) -> None:
        for version in versions:
            if version.state is not State.AVAILABLE:
                continue
            version.state = State.UNLOADING
            if version.num_in_flight == 0:
                version.idle.set()
            task = asyncio.create_task(_drain_and_close(version))
            self._unloads.add(task)
            task.add_done_callback(self._unloads.discard)

    def _assign_labels(self, wanted: Mapping[str, model_configs.ModelConfig]) -> None:
        allow_new = self._options.allow_labels_for_unavailable_versions
        for name, config in wanted.items():
            model = self._models[name]
            available = {version.number for version in model.available()}
            for label, number in config.labels.items():
                is_new = label not in model.labels
                if number not in available and not (allow_new and is_new):
                    raise errors.ServingError(
                        errors.Code.FAILED_PRECONDITION,
                        f"Request to assign label to version {number} of model {name}, which is "
                        "not currently available for inference",
                    )
        for name, config in wanted.items():
            self._models[name].labels = dict(config.labels)


def _loader(
    options: ManagerOptions, directory: pathlib.Path
) -> Callable[[], tuple[loaded_model.LoadedModel, Mapping]]:
    def load() -> tuple[loaded_model.LoadedModel, Mapping]:
        manifest.check_files(directory)
        model = loaded_model.LoadedModel(
            directory, engine=options.engine, check_tf1_shapes=options.check_tf1_shapes
        )
        if options.warm_up:
            model.warm_up()
        return model, manifest.read_manifest(directory) or {}

    return load


async def _drain_and_close(version: Version) -> None:
    await version.idle.wait()
    await asyncio.to_thread(version.batcher.close)
    await asyncio.to_thread(version.model.close)
    version.state = State.END
    del version.model, version.batcher
