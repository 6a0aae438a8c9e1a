"""Cuts a Functional model into blocks between which one activation alone is alive.

In a network of residual blocks those are the places between them.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import tensorflow as tf


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a model; the tensors are the model's symbolic ones.

    Attributes:
        entry: The activation that enters; nothing for the first block.
        fixed: Further inputs, which depend on no trainable weight, such as pixels and masks.
        exits: What later blocks or the model's outputs need.
        is_last: True for the block that ends the model.
    """

    entry: tuple[Any, ...]
    fixed: tuple[Any, ...]
    exits: tuple[Any, ...]
    is_last: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Memory:
    """Bytes of activations for one example; an open axis, such as a text's length, counts as 1.

    Attributes:
        kept: Without rematerialisation: the outputs of all operations.
        rematerialised: With it: what passes between blocks, and the inside of the largest one.
    """

    kept: int
    rematerialised: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Part:
    """Operations between two neighbouring cuts.

    Attributes:
        nodes: The calls, in order.
        exit: The activation that is alive after it; None at the end of the model.
    """

    nodes: tuple[Any, ...]
    exit: Any | None

    @property
    def num_bytes(self) -> int:
        return sum(_num_bytes(tensor) for node in self.nodes for tensor in node.outputs)


def cut(model: keras.Model) -> tuple[list[Any], list[Block]]:
    """Cuts a model so that recomputing its blocks needs the least memory.

    Args:
        model: A built Functional model.

    Returns:
        The tensors that depend on no trainable weight and that blocks or the outputs need, which
        may be empty; and the blocks in order, at least two.

    Raises:
        ValueError: If there is no place at which one activation alone is alive.
    """
    graph = _Graph(model)
    groups = _best_groups(graph.parts())
    if len(groups) < 2:
        raise ValueError(
            "`training.rematerialisation` needs a model of several blocks, between which one "
            f"activation alone is alive. Received: model={model.name!r}, which has no such place. "
            "Set it to false, or lower the memory by `training.accumulation_steps`."
        )
    blocks = [graph.block(groups, index) for index in range(len(groups))]
    return graph.fixed_tensors(), blocks


def memory(model: keras.Model) -> Memory:
    """Adds up what a model's activations need with and without rematerialisation.

    Args:
        model: A built Functional model.
    """
    graph = _Graph(model)
    fixed = sum(_num_bytes(tensor) for tensor in graph.fixed_tensors())
    parts = graph.parts()
    kept = fixed + sum(part.num_bytes for part in parts)
    return Memory(kept=kept, rematerialised=fixed + _peak(_best_groups(parts)))


class _Graph:
    """The calls of a model that depend on a trainable weight, in order.

    Args:
        model: A built Functional model.
    """

    def __init__(self, model: keras.Model):
        self._outputs = {id(tensor) for tensor in keras.tree.flatten(model.output)}
        self._levels: list[list[Any]] = []
        moving: set[int] = set()
        for depth in sorted(model._nodes_by_depth, reverse=True):
            level = [
                node
                for node in model._nodes_by_depth[depth]
                if not node.is_input and _is_moving(node, moving)
            ]
            moving.update(id(tensor) for node in level for tensor in node.outputs)
            self._levels.append(level)
        self._moving = moving
        self._model = model

    def parts(self) -> list[_Part]:
        """Returns the model's parts between all places where one activation alone is alive."""
        parts, nodes = [], []
        for index, level in enumerate(self._levels):
            nodes += level
            alive = self._alive_after(index)
            if nodes and len(alive) == 1 and self._levels[index + 1 :]:
                parts.append(_Part(nodes=tuple(nodes), exit=alive[0]))
                nodes = []
        return [*parts, _Part(nodes=tuple(nodes), exit=None)] if nodes else parts

    def fixed_tensors(self) -> list[Any]:
        """Returns what does not depend on a trainable weight but is needed by what does."""
        needed = [tensor for level in self._levels for n in level for tensor in n.input_tensors]
        needed += keras.tree.flatten(self._model.output)
        return _unique(tensor for tensor in needed if id(tensor) not in self._moving)

    def block(self, groups: Sequence[Sequence[_Part]], index: int) -> Block:
        """Makes a block of neighbouring parts."""
        nodes = [node for part in groups[index] for node in part.nodes]
        inner = {id(tensor) for node in nodes for tensor in node.outputs}
        inputs = _unique(tensor for node in nodes for tensor in node.input_tensors)
        last_exit = groups[index][-1].exit
        outputs = [t for node in nodes for t in node.outputs if id(t) in self._outputs]
        return Block(
            entry=tuple(t for t in inputs if id(t) in self._moving - inner),
            fixed=tuple(tensor for tensor in inputs if id(tensor) not in self._moving),
            exits=tuple(_unique([*outputs, *([] if last_exit is None else [last_exit])])),
            is_last=index == len(groups) - 1,
        )

    def _alive_after(self, index: int) -> list[Any]:
        made = [t for level in self._levels[: index + 1] for n in level for t in n.outputs]
        used = {
            id(t) for level in self._levels[index + 1 :] for n in level for t in n.input_tensors
        }
        return [tensor for tensor in made if id(tensor) in used]


def _is_moving(node: Any, moving: set[int]) -> bool:
    if getattr(node.operation, "trainable_variables", None):
        return True
    return any(id(tensor) in moving for tensor in node.input_tensors)


def _best_groups(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Joins neighbouring parts so that the peak is lowest: few cuts keep less, many redo less."""
    total = sum(part.num_bytes for part in parts)
    candidates = [_grouped(parts, total / count) for count in range(1, len(parts) + 1)]
    return min(candidates, key=_peak)


def _grouped(parts: Sequence[_Part], limit: float) -> list[list[_Part]]:
    groups: list[list[_Part]] = []
    size = 0
    for part in parts:
        if groups and size + part.num_bytes <= limit:
            groups[-1].append(part)
            size += part.num_bytes
        else:
            groups.append([part])
            size = part.num_bytes
    return groups


def _peak(groups: Sequence[Sequence[_Part]]) -> int:
    kept = sum(_num_bytes(group[-1].exit) for group in groups if group[-1].exit is not None)
    return kept + max(sum(part.num_bytes for part in group) for group in groups)


def _num_bytes(tensor: Any) -> int:
    return math.prod(size for size in tensor.shape if size) * tf.dtypes.as_dtype(tensor.dtype).size


def _unique(tensors: Iterable[Any]) -> list[Any]:
    return list({id(tensor): tensor for tensor in tensors}.values())
