"""Trains the reference models on Keras' JAX backend: rows per second by precision.

The builders import Keras alone, so that they run on any backend. Needs the packages `jax` and
`pydantic` beside Keras, and a device; `--allow-cpu` tries the program itself without one.

    KERAS_BACKEND=jax python -m tests.bench.gpu --peak-tflops 67,989,989
"""

import argparse
import dataclasses
import importlib.util
import os
import sys
import time
from typing import Any

# Before Keras is imported, which would fail without it.
if importlib.util.find_spec("jax") is None:
    print("Skipped: the package jax is not installed.")
    raise SystemExit(0)
os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import keras

from tests.bench.reference_models import REFERENCES, Reference

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
# A training step is counted as its forward pass and twice as much for the gradients.
_PASSES = 3
_NUM_BATCHES = 4


def forward_flops_per_row(model: keras.Model, inputs: Any) -> float:
    """Returns the floating-point operations of a forward pass, as XLA counts them.

    Args:
        model: A built model.
        inputs: A batch of its inputs.
    """

    def forward(trainable: Any, fixed: Any, batch: Any) -> Any:
        return model.stateless_call(trainable, fixed, batch, training=False)[0]

    trainable = [variable.value for variable in model.trainable_variables]
    fixed = [variable.value for variable in model.non_trainable_variables]
    analysis = jax.jit(forward).lower(trainable, fixed, inputs).compile().cost_analysis()
    return float(analysis["flops"]) / len(inputs)


def measure(reference: Reference, policy: str, *, num_steps: int) -> tuple[float, float]:
    """Trains a reference with a dtype policy.

    Args:
        reference: The model and its batch size.
        policy: One of `POLICIES`.
        num_steps: Steps that are timed, > 0.

    Returns:
        Rows per second, and the floating-point operations of a row in a training step.
    """
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(0)
    model = reference.build()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-3), loss={"logits": loss}, jit_compile=True)
    inputs, labels_B = reference.batches(_NUM_BATCHES)
    size = reference.batch_size
    batches = [
        (inputs[start : start + size], labels_B[start : start + size])
        for start in range(0, len(labels_B), size)
    ]
    flops = _PASSES * forward_flops_per_row(model, batches[0][0])
    # The loss comes back as a number, so that the last step has ended when the clock stops.
    float(model.train_on_batch(*batches[0]))
    started = time.perf_counter()
    for step in range(num_steps):
        last_loss = model.train_on_batch(*batches[step % _NUM_BATCHES])
    float(last_loss)
    return size * num_steps / (time.perf_counter() - started), flops


def table(name: str, reference: Reference, *, policies: dict[str, float], num_steps: int) -> str:
    """Returns a row for each precision; `policies` has the peak TFLOP/s of each, 0 if unknown."""
    lines = []
    base = None
    for policy, peak in policies.items():
        rate, flops = measure(reference, policy, num_steps=num_steps)
        base = base or rate
        share = f"{rate * flops / (peak * 1e12):.1%}" if peak else ""
        lines.append(
            f"| {name} | {reference.batch_size} | {policy} | {rate:,.0f} | {rate / base:.2f}x "
            f"| {rate * flops / 1e12:.3f} | {share} |"
        )
    return "\n".join(lines)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(REFERENCES))
    parser.add_argument("--batch-size", type=int, help="in place of each reference's own")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument(
        "--peak-tflops", help=f"of the device, one for each of {', '.join(POLICIES)}: 67,989,989"
    )
    parser.add_argument("--allow-cpu", action="store_true", help="run where JAX sees a CPU only")
    options = parser.parse_args()
    options.peaks = [float(peak) for peak in (options.peak_tflops or "").split(",") if peak]
    if options.peaks and len(options.peaks) != len(POLICIES):
        parser.error(
            f"--peak-tflops needs {len(POLICIES)} numbers, for {', '.join(POLICIES)}. "
            f"Received: {options.peak_tflops}."
        )
    return options


def main() -> int:
    """Prints the table; without jax or an accelerator it says so and does nothing."""
    options = _parse()
    if keras.backend.backend() != "jax":
        print(f"Skipped: Keras runs on {keras.backend.backend()}. Set KERAS_BACKEND=jax.")
        return 0
    if jax.default_backend() == "cpu" and not options.allow_cpu:
        print("Skipped: JAX sees no accelerator. `--allow-cpu` runs the program all the same.")
        return 0
    print(f"{jax.devices()[0].device_kind}, Keras {keras.__version__}, JAX {jax.__version__}\n")
    policies = dict(zip(POLICIES, options.peaks or [0.0] * len(POLICIES), strict=True))
    if jax.default_backend() == "cpu":
        print("Without mixed_float16: XLA has no such products on a processor.\n")
        del policies["mixed_float16"]
    print("| model | batch | policy | rows/s | to float32 | TFLOP/s | share of peak |")
    print("|---|---|---|---|---|---|---|")
    for name in options.only or REFERENCES:
        reference = REFERENCES[name]
        if options.batch_size:
            reference = dataclasses.replace(reference, batch_size=options.batch_size)
        rows = table(name, reference, policies=policies, num_steps=options.steps)
        print(rows, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
