"""How many bytes a training needs, against what the device has."""

import dataclasses
import math

import keras
from tensorflow.python.client import device_lib

from components import host_memory
from components.trainer import batches, model_blocks, precision
from components.trainer import request as train_request
from components.trainer.config import TrainingConfig
from models import registry

# Float32 values that each optimizer keeps for one parameter.
_OPTIMIZER_VALUES = {"adamw": 2, "muon": 2, "sgd": 1, "lion": 1, "adafactor": 1}
_FLOAT32_BYTES = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """Bytes on each device.

    Attributes:
        num_parameters: Trainable parameters.
        parameters: Bytes of all weights, in float32.
        gradients: Bytes of the gradients, in float32.
        optimizer: Bytes of the optimizer's state, and of the moving average of the weights.
        activations: Bytes of the layers' outputs that the backward pass needs, for one micro-batch.
        rematerialised_activations: The same with rematerialisation.
        available: Bytes that the device has.
    """

    num_parameters: int
    parameters: int
    gradients: int
    optimizer: int
    activations: int
    rematerialised_activations: int
    available: int

    @property
    def total(self) -> int:
        """Sum of the parts."""
        return self.parameters + self.gradients + self.optimizer + self.activations

    def levers(self, training: TrainingConfig) -> list[str]:
        """Says what would save memory and how much, the largest saving first.

        Args:
            training: The recipe's training, of which nothing is suggested that it has already.
        """
        half = self.activations // 2
        redone = self.activations - self.rematerialised_activations
        more = 2 * training.accumulation_steps
        savings = {f"`training.accumulation_steps = {more}`: the same mathematics": half}
        if not training.rematerialisation:
            savings["`training.rematerialisation = true`: about a third more time"] = redone
        if precision.resolve_policy(training.precision) == "float32":
            savings['`training.precision = "mixed_bfloat16"`: half the activations'] = half
        if _OPTIMIZER_VALUES[training.optimizer.name] > 1:
            savings['`training.optimizer.name = "sgd"`: half the state'] = self.optimizer // 2
        ranked = sorted(savings.items(), key=lambda item: -item[1])
        return [f"{text} (about {format_bytes(saved)})" for text, saved in ranked if saved]


def estimate(request: train_request.TrainRequest, *, num_replicas: int = 1) -> Estimate:
    """Adds up what the recipe's training needs on each device; nothing is trained.

    Activations are counted as every layer's output once; the backend shares some and keeps others
    twice, so take it as right within a factor of two.

    Args:
        request: What would be trained.
        num_replicas: Devices over which the batch is divided, > 0.
    """
    training = request.training
    policy = precision.resolve_policy(training.precision)
    with precision.policy_scope(policy):
        model = registry.build_model(
            request.model,
            inputs=batches.decoder(request).inputs,
            head=batches.head(request),
        )
    num_parameters = _count(model.trainable_variables)
    micro_batch = math.ceil(
        training.global_batch_size / (num_replicas * training.accumulation_steps)
    )
    activations = model_blocks.memory(model)
    kept = activations.rematerialised if training.rematerialisation else activations.kept
    copies = _OPTIMIZER_VALUES[training.optimizer.name] + (training.ema_momentum is not None)
    return Estimate(
        num_parameters=num_parameters,
        parameters=_count(model.weights) * _FLOAT32_BYTES,
        gradients=num_parameters * _FLOAT32_BYTES,
        optimizer=num_parameters * copies * _FLOAT32_BYTES,
        activations=micro_batch * kept,
        rematerialised_activations=micro_batch * activations.rematerialised,
        available=available_bytes(),
    )


def is_plain_step_safe(request: train_request.TrainRequest, *, num_replicas: int = 1) -> bool:
    """Says whether a step without rematerialisation needs at most half of the memory there is.

    Args:
        request: What would be trained.
        num_replicas: Devices over which the batch is divided, > 0.
    """
    training = request.training.model_copy(update={"rematerialisation": False})
    plain = estimate(dataclasses.replace(request, training=training), num_replicas=num_replicas)
    return 2 * plain.total <= plain.available


def available_bytes() -> int:
    """Returns the memory of the first accelerator, or what is free on this machine."""
    devices = device_lib.list_local_devices()
    limits = [device.memory_limit for device in devices if device.device_type == "GPU"]
    return int(limits[0]) if limits else host_memory.available_bytes()


def format_bytes(count: int) -> str:
    """Writes a number of bytes for people.

    >>> format_bytes(3 * 2**20)
    '3.0 MiB'
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


def _count(variables: list[keras.Variable]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)
