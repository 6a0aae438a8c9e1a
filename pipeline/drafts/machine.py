"""What a recipe's draft needs to know of the machine, without importing TensorFlow."""

import dataclasses
import os
import shutil
import subprocess

from components import host_memory

_TIMEOUT_SECS = 10
_GIGA = 1e9
# Of a large batch, on a GPU, as many times as on processors; so is a run's number of steps.
_GPU_FACTOR = 4
# An epoch needs some steps, or the learning rate has hardly begun to fall when it ends.
_MIN_STEPS_PER_EPOCH = 50


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine:
    """Processor cores that this process may use, free memory, and the name of the first GPU."""

    num_cores: int
    memory_bytes: int
    gpu: str | None

    def in_words(self) -> str:
        """Says what was found.

        >>> Machine(num_cores=2, memory_bytes=8_000_000_000, gpu=None).in_words()
        '2 cores, 8 GB of free memory, no GPU'
        """
        cores = f"{self.num_cores} core{'s' * (self.num_cores != 1)}"
        return f"{cores}, {self.memory_bytes / _GIGA:.0f} GB of free memory, {self.gpu or 'no GPU'}"

    def precision_in_words(self) -> str:
        """Says what precision = "auto" becomes here."""
        if self.gpu is None:
            return '"auto" is float32 here, on processors, and half precision on GPUs and TPUs.'
        return f'"auto" takes the half precision that the {self.gpu} has units for.'

    def batch_size(self, num_train: int, *, small: int, large: int, from_rows: int) -> int:
        """Chooses a batch size.

        Args:
            num_train: Training examples.
            small: For few examples.
            large: For `from_rows` examples and more, on processors.
            from_rows: How many are not few.
        """
        if self.gpu and num_train >= _MIN_STEPS_PER_EPOCH * large * _GPU_FACTOR:
            return large * _GPU_FACTOR
        return max(1, min(large if num_train >= from_rows else small, num_train))

    def num_epochs(
        self, num_train: int, *, batch_size: int, num_steps: int, least: int, most: int
    ) -> int:
        """Chooses how many epochs make about `num_steps` steps, or on a GPU four times as many."""
        wanted = num_steps * (_GPU_FACTOR if self.gpu else 1)
        return min(max(-(-wanted * batch_size // num_train), least), most)


def look() -> Machine:
    """Returns what this machine has."""
    return Machine(
        num_cores=_num_cores(), memory_bytes=host_memory.available_bytes(), gpu=_gpu_name()
    )


def _num_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _gpu_name() -> str | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [program, "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    names = done.stdout.split("\n")
    return names[0].strip() or None if done.returncode == 0 else None
