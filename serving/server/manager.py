"""The configured models: which there are, which versions answer, and by which labels."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from serving.server import errors, loading, model_configs, versions

_log = logging.getLogger("kerasline.serve")

# At the start and after a new configuration, an unfinished folder is looked at again so often.
_SETTLE_LOOKS = 5
_SETTLE_SECS = 0.5


class Manager:
    """Keeps the wanted versions of the configured models loaded."""

    def __init__(self, loader: loading.Loader, *, allow_labels_for_unavailable_versions: bool):
        """Starts with no model.

        Args:
            loader: Loads and unloads versions.
            allow_labels_for_unavailable_versions: Accept a new label for a version that is not
                loaded yet.
        """
        self._loader = loader
        self._allow_new_labels = allow_labels_for_unavailable_versions
        self._models: dict[str, versions.Model] = {}
        self._lock = asyncio.Lock()

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
                self._loader.unload(list(self._models.pop(name).versions.values()))
            moved = {}
            for name, config in wanted.items():
                model = self._models.setdefault(name, versions.Model(config))
                if model.config.base_path == config.base_path:
                    model.config = config
                else:
                    moved[name] = versions.Model(config)
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

    def find(self, name: str, *, version: int | None = None, label: str = "") -> versions.Version:
        """Returns an available version; use it in a `with` block.

        Args:
            name: The model's name.
            version: The version; None: the one that `label` names, or the latest.
            label: A version label; empty: none.

        Raises:
            ServingError: NOT_FOUND or INVALID_ARGUMENT, in TF Serving's words.
        """
        model = self._models.get(name)
        if label:
            version = _labelled(model, label)
        found = model.find_available(version) if model else None
        if found is None:
            wanted = f"Latest({name})" if version is None else f"Specific({name}, {version})"
            raise errors.ServingError(
                errors.Code.NOT_FOUND, f"Servable not found for request: {wanted}"
            )
        return found

    def has_available(self, name: str) -> bool:
        """Tells whether a model can answer now."""
        model = self._models.get(name)
        return model is not None and bool(model.available())

    def available_numbers(self, name: str) -> list[int]:
        """Returns the numbers of the versions of a configured model that can answer, in order."""
        return sorted(version.number for version in self._models[name].available())

    def statuses(
        self, name: str, *, version: int | None = None, label: str = ""
    ) -> list[versions.Version]:
        """Returns the versions of a model in any state, the newest first.

        Raises:
            ServingError: NOT_FOUND or INVALID_ARGUMENT, in TF Serving's words.
        """
        model = self._models.get(name)
        if label:
            version = _labelled(model, label)
        known = model.versions if model else {}
        if version is not None:
            known = {number: each for number, each in known.items() if number == version}
        if not known:
            what = "any versions" if version is None else f"version {version}"
            raise errors.ServingError(
                errors.Code.NOT_FOUND, f"Could not find {what} of model {name}"
            )
        return [each for _, each in sorted(known.items(), reverse=True)]

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
                self._loader.unload(list(model.versions.values()))
            self._models.clear()
        await self._loader.close()

    async def _poll_until_settled(self, models: Sequence[versions.Model]) -> None:
        """Polls, and again for a short while as long as a model's only version looks unfinished."""
        for _ in range(_SETTLE_LOOKS):
            await self._poll_all(models)
            if all(not model.unsettled or model.available() for model in models):
                return
            await asyncio.sleep(_SETTLE_SECS)

    async def _poll_all(self, models: Sequence[versions.Model]) -> None:
        await asyncio.gather(*[self._loader.poll(model) for model in models])

    def _replace(self, moved: Mapping[str, versions.Model]) -> None:
        """Lets models that were loaded from a new base path take over."""
        failed = []
        for name, model in moved.items():
            old = self._models[name]
            if old.available() and not model.available():
                failed.append(name)
                continue
            self._models[name] = model
            self._loader.unload(list(old.versions.values()))
        if failed:
            raise errors.ServingError(
                errors.Code.FAILED_PRECONDITION,
                f"Nothing could be loaded from the new base path of {', '.join(sorted(failed))}; "
                "what was loaded before goes on serving",
            )

    def _assign_labels(self, wanted: Mapping[str, model_configs.ModelConfig]) -> None:
        for name, config in wanted.items():
            model = self._models[name]
            available = {version.number for version in model.available()}
            for label, number in config.labels.items():
                is_new = label not in model.labels
                if number not in available and not (self._allow_new_labels and is_new):
                    raise errors.ServingError(
                        errors.Code.FAILED_PRECONDITION,
                        f"Request to assign label to version {number} of model {name}, which is "
                        "not currently available for inference",
                    )
        for name, config in wanted.items():
            self._models[name].labels = dict(config.labels)


def _labelled(model: versions.Model | None, label: str) -> int:
    """Returns the version that a label names.

    Raises:
        ServingError: INVALID_ARGUMENT if the model has no such label.
    """
    if model is None or label not in model.labels:
        raise errors.invalid(f"Unrecognized servable version label: {label}")
    return model.labels[label]
