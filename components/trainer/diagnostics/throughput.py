"""How fast a step is and where its time goes: by part, and by batch size."""

import dataclasses
import functools
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tensorflow as tf

from components.trainer import batches, metrics
from components.trainer import request as train_request
from components.trainer import step as train_step
from components.trainer.diagnostics import estimate, setup

_MEASURED_SECS = 1.0
# A batch size is enough when it has this share of the best one's rows per second.
_GOOD_SHARE = 0.95
_MEMORY_SHARE = 0.8


@dataclasses.dataclass(frozen=True, kw_only=True)
class Profile:
    """Seconds per step, by part.

    Attributes:
        input: Making a batch when nothing else runs.
        forward: The network's answer.
        backward: The gradients.
        update: Sum, clipping and the optimizer.
        rows_per_sec: Examples per second of the whole step.
        wait_share: Share of the step in which it waits for its batch.
    """

    input: float
    forward: float
    backward: float
    update: float
    rows_per_sec: float
    wait_share: float

    def parts(self) -> dict[str, float]:
        """Returns the parts of a step by name; the input runs beside them."""
        return {"forward": self.forward, "backward": self.backward, "update": self.update}


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchSpeed:
    """What one batch size gives.

    Attributes:
        global_batch_size: Examples per step.
        rows_per_sec: Examples per second.
        bytes_needed: Estimated memory.
    """

    global_batch_size: int
    rows_per_sec: float
    bytes_needed: int


def profile(request: train_request.TrainRequest) -> Profile:
    """Measures the parts of a step one after another.

    Args:
        request: What to train; its folder is not touched.
    """
    bench = setup.make_bench(request)
    step = bench.built.step
    model, loss_function = step.model, bench.built.plain_loss
    output_name = metrics.measure_of(model).output_name
    batch = next(bench.batches())

    @tf.function
    def forward(inputs: train_step.Inputs, answers: tf.Tensor) -> tf.Tensor:
        outputs = model(inputs, training=True)[output_name]
        return tf.reduce_mean(loss_function(outputs, answers))

    @tf.function
    def backward(inputs: train_step.Inputs, answers: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = forward(inputs, answers)
        gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
        # One number is enough to make all of them be computed.
        return [tf.reduce_sum(gradient) for gradient in gradients]

    iterator = bench.batches()
    input_secs = _seconds_each(lambda: next(iterator))
    forward_secs = _seconds_each(lambda: forward(*batch).numpy())
    both_secs = _seconds_each(lambda: backward(*batch)[0].numpy())
    num_steps = max(int(_MEASURED_SECS / both_secs), 2)
    step.run(iterator, 1)
    started = time.monotonic()
    report = step.run(iterator, num_steps)
    step_secs = (time.monotonic() - started) / num_steps
    return Profile(
        input=input_secs,
        forward=forward_secs,
        backward=max(both_secs - forward_secs, 0.0),
        update=max(step_secs - both_secs - report.wait_secs / num_steps, 0.0),
        rows_per_sec=request.training.global_batch_size / step_secs,
        wait_share=report.wait_secs / (step_secs * num_steps),
    )


def draw(measured: Profile, path: pathlib.Path) -> None:
    """Draws the parts of a step as bars.

    Args:
        measured: What was measured.
        path: PNG file to write.
    """
    # Imported here, since it takes a second and only the picture needs it.
    from matplotlib import figure

    parts = {"input (beside)": measured.input, **measured.parts()}
    picture = figure.Figure(figsize=(7, 2.6), layout="constrained")
    axes = picture.add_subplot()
    colours = ["#b0bec5", "#1565c0", "#5e92f3", "#c62828"]
    axes.barh(list(parts), [1e3 * seconds for seconds in parts.values()], color=colours)
    axes.invert_yaxis()
    axes.set(xlabel="milliseconds per step", title=f"{measured.rows_per_sec:,.0f} rows per second")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=120)


def batch_speeds(request: train_request.TrainRequest, sizes: Iterable[int]) -> Iterator[BatchSpeed]:
    """Measures batch sizes until one would no longer fit into memory.

    Args:
        request: What to train; its folder is not touched.
        sizes: Growing batch sizes.

    Yields:
        What each size gives.
    """
    for size in sizes:
        training = setup.plain_training(
            request.training, learning_rate=1e-4, global_batch_size=size
        )
        sized = dataclasses.replace(request, training=training)
        needed = estimate.estimate(sized)
        if needed.total > _MEMORY_SHARE * needed.available:
            return
        if size > batches.count_examples(sized):
            return
        bench = setup.make_bench(sized)
        one_step = functools.partial(bench.built.step.run, bench.batches(), 1)
        seconds = _seconds_each(one_step)
        yield BatchSpeed(
            global_batch_size=size, rows_per_sec=size / seconds, bytes_needed=needed.total
        )


def smallest_good(speeds: list[BatchSpeed]) -> BatchSpeed:
    """Returns the smallest batch size that is about as fast as the fastest.

    >>> slow = BatchSpeed(global_batch_size=32, rows_per_sec=50.0, bytes_needed=0)
    >>> good = BatchSpeed(global_batch_size=64, rows_per_sec=97.0, bytes_needed=0)
    >>> best = BatchSpeed(global_batch_size=128, rows_per_sec=100.0, bytes_needed=0)
    >>> smallest_good([slow, good, best]).global_batch_size
    64
    """
    fastest = max(speed.rows_per_sec for speed in speeds)
    return next(speed for speed in speeds if speed.rows_per_sec >= _GOOD_SHARE * fastest)


def _seconds_each(call: Callable[[], Any]) -> float:
    """Calls once to warm up, then for about a second, and returns the seconds of one call."""
    call()
    started = time.monotonic()
    count = 0
    while time.monotonic() - started < _MEASURED_SECS:
        call()
        count += 1
    return (time.monotonic() - started) / count
