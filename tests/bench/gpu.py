"""Trains the models on Keras' JAX backend: rows per second by precision, on an accelerator.

The builders import Keras alone, so that they run on any backend. Needs `jax` and a device:

    KERAS_BACKEND=jax python -m tests.bench.gpu --peak-tflops 989
"""

import argparse
import importlib.util
import os
import sys
import time

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

from models import config, inputs, registry
from models.blocks import heads

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
# Multiply-adds of one forward pass of ResNet-50 on 224 x 224 x 3 (He et al. 2015, table 1), times
# two operations, times three for the backward pass.
FLOPS_PER_ROW = 3 * 2 * 3.8e9
IMAGE_SHAPE = (224, 224, 3)


def rows_per_sec(policy: str, *, batch_size: int, num_steps: int) -> float:
    """Trains ResNet-50 on random images with a dtype policy."""
    keras.config.set_dtype_policy(policy)
    resnet = config.ResNetConfig(architecture="resnet", depth=50, stem="imagenet")
    pixels = inputs.ImageInput(height_px=224, width_px=224, channels=3)
    model = registry.build_model(resnet, inputs=pixels, head=heads.Classes(num_classes=1000))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss={"logits": loss}, jit_compile=True)
    generator = np.random.default_rng(0)
    images_BHWC = generator.integers(0, 256, (batch_size, *IMAGE_SHAPE)).astype("float32")
    labels_B = generator.integers(0, 1000, batch_size)
    model.train_on_batch(images_BHWC, labels_B)
    started = time.monotonic()
    for _ in range(num_steps):
        model.train_on_batch(images_BHWC, labels_B)
    return batch_size * num_steps / (time.monotonic() - started)


def main() -> int:
    """Prints the table; without jax or an accelerator it says so and does nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--peak-tflops", type=float, help="of the device, in bfloat16")
    options = parser.parse_args()
    if importlib.util.find_spec("jax") is None:
        print("Skipped: the package jax is not installed.")
        return 0
    import jax

    if jax.default_backend() == "cpu":
        print("Skipped: JAX sees no accelerator.")
        return 0
    print(f"{jax.devices()[0].device_kind}, Keras {keras.__version__}, JAX {jax.__version__}\n")
    print("| policy | rows/s | to float32 | share of peak |\n|---|---|---|---|")
    base = None
    for policy in POLICIES:
        rate = rows_per_sec(policy, batch_size=options.batch_size, num_steps=options.steps)
        base = base or rate
        share = ""
        if options.peak_tflops:
            share = f"{rate * FLOPS_PER_ROW / (options.peak_tflops * 1e12):.1%}"
        print(f"| {policy} | {rate:,.0f} | {rate / base:.2f}x | {share} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
