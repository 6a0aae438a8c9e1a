"""Checkpoints that hold everything, appear whole or not at all, and prove what they hold.

A checkpoint is a folder `step-000000842` with `arrays.npz` and `state.json`. It is written under
another name, forced to disk and renamed, so that a kill at any moment leaves the one before it.
`state.json` holds the SHA-256 of the arrays and of itself.
"""

import concurrent.futures
import contextlib
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

_ARRAYS = "arrays.npz"
_STATE = "state.json"
_PREFIX = "step-"
_PARTIAL = ".partial-"
_FORMAT = 1


class ForeignCheckpointError(ValueError):
    """A checkpoint belongs to another recipe; the message names the keys that differ."""


class DamagedCheckpointError(ValueError):
    """A checkpoint does not hold what its digest says."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What a checkpoint holds.

    Attributes:
        global_step: Steps taken since the beginning of the run.
        arrays: Name -> array: weights, optimizer state and all other variables.
        loop: State of the loop and its monitors, as JSON can hold it.
        config: The settings that the run depends on, as JSON can hold them.
        score: Quality, higher is better; None in the middle of an epoch.
    """

    global_step: int
    arrays: Mapping[str, np.ndarray]
    loop: Mapping[str, Any]
    config: Mapping[str, Any]
    score: float | None


class CheckpointStore:
    """A folder of checkpoints: the latest, and the best by score.

    Writing happens in a thread of its own, so that training goes on meanwhile; a fault there is
    raised by the next call.

    Args:
        directory: Where the checkpoints are; made when the first is written.
        keep_best: Number of checkpoints with the highest scores to keep beside the latest, >= 0.

    Attributes:
        directory: The same.
    """

    def __init__(self, directory: pathlib.Path, *, keep_best: int = 3):
        self.directory = directory
        self._keep_best = keep_best
        self._writer = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: concurrent.futures.Future[None] | None = None
        # Name of each whole checkpoint -> its score; read once, since states grow with the run.
        self._known_scores: dict[str, float | None] | None = None

    def save(self, checkpoint: Checkpoint) -> None:
        """Starts to write a checkpoint; waits for the one before it.

        Args:
            checkpoint: Arrays must not change afterwards: pass copies.

        Raises:
            OSError: If the checkpoint before this one could not be written.
        """
        self.wait()
        self._pending = self._writer.submit(self._write, checkpoint)

    def wait(self) -> None:
        """Waits until everything is on disk.

        Raises:
            OSError: If it could not be written.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def latest(self, config: Mapping[str, Any]) -> tuple[Checkpoint | None, list[str]]:
        """Reads the newest whole checkpoint; a damaged one is passed over for the one before it.

        Args:
            config: The settings of the run that wants to continue.

        Returns:
            The checkpoint, None if there is none, and a sentence for each that was passed over.

        Raises:
            ForeignCheckpointError: If it was written under other settings.
        """
        notes = []
        for path in reversed(self._paths()):
            try:
                checkpoint = read(path)
            except DamagedCheckpointError as error:
                notes.append(f"{error} It is passed over.")
                continue
            check_config(path, checkpoint.config, config)
            return checkpoint, notes
        return None, notes

    def best(self) -> Checkpoint | None:
        """Reads the whole checkpoint with the highest score; of equal ones the newest."""
        self.wait()
        scored = sorted(self._scores().items(), key=lambda item: (item[1], item[0].name))
        for path, _ in reversed(scored):
            try:
                return read(path)
            except DamagedCheckpointError:
                continue
        return None

    def _paths(self) -> list[pathlib.Path]:
        return sorted(self.directory.glob(f"{_PREFIX}*"))

    def _scores(self) -> dict[pathlib.Path, float]:
        paths = {path.name: path for path in self._paths()}
        if self._known_scores is None:
            self._known_scores = _read_scores(paths.values())
        return {
            paths[name]: score
            for name, score in self._known_scores.items()
            if name in paths and score is not None
        }

    def _write(self, checkpoint: Checkpoint) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        _remove_partial(self.directory)
        final = self.directory / f"{_PREFIX}{checkpoint.global_step:09d}"
        partial = self.directory / f"{_PARTIAL}{final.name}"
        partial.mkdir()
        _write_files(partial, checkpoint)
        if final.exists():
            # The same step again: after a resume, or at the end of an epoch.
            shutil.rmtree(final)
        partial.rename(final)
        _sync(self.directory)
        if self._known_scores is not None:
            self._known_scores[final.name] = checkpoint.score
        self._remove_surplus()

    def _remove_surplus(self) -> None:
        scores = self._scores()
        ranked = sorted(scores, key=lambda path: (scores[path], path.name), reverse=True)
        kept = {*ranked[: self._keep_best], self._paths()[-1]}
        for path in self._paths():
            if path not in kept:
                shutil.rmtree(path)


def read(path: pathlib.Path) -> Checkpoint:
    """Reads and checks one checkpoint.

    Args:
        path: Its folder.

    Raises:
        DamagedCheckpointError: If a file is missing or does not have its digest.
    """
    state = _read_state(path)
    try:
        data = (path / _ARRAYS).read_bytes()
    except OSError as error:
        raise _damaged(path, f"{_ARRAYS} cannot be read ({error.strerror})") from error
    if hashlib.sha256(data).hexdigest() != state["arrays_sha256"]:
        raise _damaged(path, f"{_ARRAYS} does not have the digest that {_STATE} names")
    with np.load(path / _ARRAYS, allow_pickle=False) as arrays:
        named = {name: arrays[name] for name in arrays.files}
    return Checkpoint(
        global_step=state["global_step"],
        arrays=named,
        loop=state["loop"],
        config=state["config"],
        score=state["score"],
    )


def check_config(path: pathlib.Path, written: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Checks that a run may continue from a checkpoint.

    Raises:
        ForeignCheckpointError: If a setting differs.
    """
    before, now = leaves(written), leaves(wanted)
    differing = sorted(key for key in before | now if before.get(key) != now.get(key))
    if not differing:
        return
    changes = ", ".join(
        f"{key} ({before.get(key, 'unset')!r} then, {now.get(key, 'unset')!r} now)"
        for key in differing
    )
    raise ForeignCheckpointError(
        f"The checkpoint {path} cannot be continued, because the recipe has changed: {changes}. "
        "Restore these keys, or start afresh in another folder."
    )


def _write_files(directory: pathlib.Path, checkpoint: Checkpoint) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(checkpoint.arrays))
    arrays_sha256 = hashlib.sha256(buffer.getbuffer()).hexdigest()
    (directory / _ARRAYS).write_bytes(buffer.getbuffer())
    state = {
        "format": _FORMAT,
        "global_step": checkpoint.global_step,
        "score": checkpoint.score,
        "loop": checkpoint.loop,
        "config": checkpoint.config,
        "arrays_sha256": arrays_sha256,
    }
    text = json.dumps({"state": state, "sha256": _digest(state)}, indent=1)
    (directory / _STATE).write_text(text)
    for path in (directory / _ARRAYS, directory / _STATE, directory):
        _sync(path)


def _read_state(path: pathlib.Path) -> dict[str, Any]:
    try:
        wrapped = json.loads((path / _STATE).read_bytes())
        state, digest = wrapped["state"], wrapped["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"{_STATE} cannot be read ({error})") from error
    if _digest(state) != digest:
        raise _damaged(path, f"{_STATE} does not have its own digest")
    return state


def _read_scores(paths: Iterable[pathlib.Path]) -> dict[str, float | None]:
    scores = {}
    for path in paths:
        with contextlib.suppress(DamagedCheckpointError):
            scores[path.name] = _read_state(path)["score"]
    return scores


def _digest(state: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _damaged(path: pathlib.Path, reason: str) -> DamagedCheckpointError:
    return DamagedCheckpointError(f"The checkpoint {path} is damaged: {reason}.")


def leaves(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flattens tables within tables.

    >>> leaves({"a": {"b": 1}, "c": 2})
    {'a.b': 1, 'c': 2}
    """
    flat = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(leaves(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _remove_partial(directory: pathlib.Path) -> None:
    for path in directory.glob(f"{_PARTIAL}*"):
        shutil.rmtree(path)


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
