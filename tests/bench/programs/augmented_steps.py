"""Training steps of the Fashion-MNIST recipe's model with and without augmentation, in turn.

Prints one JSON line: milliseconds per step of each. Arguments: working folder, number of rounds.
"""

import json
import pathlib
import statistics
import sys
import time

import keras

from components.ingest import ingest
from components.input_pipeline import chain, decoding
from components.input_pipeline.config import AugmentConfig, InputConfig
from models import registry
from models.blocks import heads
from pipeline import recipe_files
from tests.components import data_factories

NUM_STEPS = 100
AUGMENTS = {
    "none": AugmentConfig(),
    "the recipe's": recipe_files.load("fashion_mnist").input.augment,
    "everything": AugmentConfig(
        horizontal_flip=True,
        max_translation_px=2,
        max_rotation_degrees=10.0,
        min_crop_area=0.7,
        brightness=0.1,
        contrast=0.1,
        erasing_probability=0.3,
    ),
}


def main() -> None:
    """Measures the three in turn and prints the medians."""
    recipe = recipe_files.load("fashion_mnist")
    data = data_factories.data_config(image=recipe.data.image.to_dict())
    source = data_factories.SyntheticSource(20_000)
    dataset = ingest.ingest_source(source, data, seed=0, cache_dir=pathlib.Path(sys.argv[1]))
    shards = [str(dataset.path / shard.path) for shard in dataset.manifest.splits["train"].shards]
    decode = decoding.Decoder(data)
    model = registry.build_model(
        recipe.model, inputs=decode.inputs, head=heads.Classes(num_classes=3)
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adamw", loss={"logits": loss}, steps_per_execution=NUM_STEPS)
    seconds: dict[str, list[float]] = {name: [] for name in AUGMENTS}
    for _ in range(int(sys.argv[2])):
        for name, augment in AUGMENTS.items():
            batches = chain.train_dataset(
                shards,
                decode=decode,
                input_config=InputConfig(augment=augment),
                global_batch_size=recipe.training.global_batch_size,
                seed=0,
            )
            batches = batches.map(lambda images, labels: (images, {"logits": labels}))
            model.fit(batches, steps_per_epoch=NUM_STEPS, verbose=0)
            start = time.perf_counter()
            model.fit(batches, steps_per_epoch=NUM_STEPS, verbose=0)
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    print(json.dumps({name: value / NUM_STEPS * 1000 for name, value in medians.items()}))


if __name__ == "__main__":
    main()
