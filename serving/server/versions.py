"""The versions of a model that a server knows, and what state each is in."""

import asyncio
import dataclasses
import enum
import pathlib
from collections.abc import Mapping
from types import TracebackType

from serving.server import batching, errors, loaded_model, model_configs, storage


class State(enum.IntEnum):
    """The states of TF Serving's ModelVersionStatus."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclasses.dataclass(eq=False)
class Version:
    """One version of one model; in a `with` block it stays loaded until the block ends."""

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

    def __enter__(self) -> "Version":
        self.num_in_flight += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.num_in_flight -= 1
        if self.num_in_flight == 0 and self.state is State.UNLOADING:
            self.idle.set()


@dataclasses.dataclass(eq=False)
class Model:
    """A configured model and its versions by number."""

    config: model_configs.ModelConfig
    versions: dict[int, Version] = dataclasses.field(default_factory=dict)
    snapshots: dict[int, storage.Snapshot] = dataclasses.field(default_factory=dict)
    labels: dict[str, int] = dataclasses.field(default_factory=dict)
    unsettled: bool = False  # A wanted version looks as if it were being copied.

    def available(self) -> list[Version]:
        """Returns the versions that can answer, in no particular order."""
        return [each for each in self.versions.values() if each.state is State.AVAILABLE]

    def find_available(self, number: int | None) -> Version | None:
        """Returns a version that can answer: the one with this number, or the latest."""
        if number is None:
            return max(self.available(), key=_number, default=None)
        found = self.versions.get(number)
        return found if found is not None and found.state is State.AVAILABLE else None


def _number(version: Version) -> int:
    return version.number
