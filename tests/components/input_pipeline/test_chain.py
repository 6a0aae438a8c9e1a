import json

import numpy as np
import pytest
import tensorflow as tf

from components.ingest import ingest
from components.input_pipeline import chain, decoding, parts
from components.input_pipeline.config import AugmentConfig, InputConfig
from tests.components import data_factories

NUM_ROWS = 96
AUGMENT = AugmentConfig(horizontal_flip=True, max_translation_px=1)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Shards of 96 examples that all differ."""
    folder = tmp_path_factory.mktemp("data")
    source = data_factories.write_idx_dataset(folder / "source", num_train=60, num_test=NUM_ROWS)
    data = data_factories.data_config()
    dataset = ingest.ingest_source(source, data, seed=0, cache_dir=folder / "cache")
    paths = [str(dataset.path / shard.path) for shard in dataset.manifest.splits["test"].shards]
    assert chain.count_examples(paths) == NUM_ROWS
    return paths


def expected_images() -> dict[bytes, int]:
    images, labels = data_factories.random_images(NUM_ROWS, seed=NUM_ROWS)
    return {image.tobytes(): label for image, label in zip(images, labels.tolist(), strict=True)}


def train(shards, *, cache="memory", augment=None, batch=12, seed=3, **options):
    config = InputConfig(cache=cache, augment=augment or AugmentConfig())
    dataset = chain.train_dataset(
        shards,
        decode=decoding.Decoder(data_factories.data_config()),
        input_config=config,
        global_batch_size=batch,
        seed=seed,
        **options,
    )
    return [(images, labels) for images, labels in dataset.as_numpy_iterator()]


def flat(batches):
    images = np.concatenate([images for images, _ in batches])
    labels = np.concatenate([labels for _, labels in batches])
    return [image.tobytes() for image in images], labels.tolist()


@pytest.mark.parametrize("cache", ["memory", "disk", "none"])
def test_each_example_comes_once_per_pass_with_its_label(shards, cache):
    images, labels = flat(train(shards, cache=cache, num_steps=16))
    for first in (0, NUM_ROWS):
        one_pass = slice(first, first + NUM_ROWS)
        assert dict(zip(images[one_pass], labels[one_pass], strict=True)) == expected_images()


def test_each_example_comes_once_per_pass_when_batches_do_not_divide_the_data(shards):
    images, _ = flat(train(shards, batch=36, num_steps=8))
    for first in (0, NUM_ROWS, 2 * NUM_ROWS):
        assert len(set(images[first : first + NUM_ROWS])) == NUM_ROWS


def test_every_pass_has_another_order(shards):
    images, _ = flat(train(shards, num_steps=16))
    assert images[:NUM_ROWS] != images[NUM_ROWS:]


def test_another_seed_has_another_order(shards):
    assert flat(train(shards, seed=1, num_steps=1)) != flat(train(shards, seed=2, num_steps=1))


def test_order_keeps_no_trace_of_the_order_on_disk(shards):
    """Labels come round in turn on disk; after the shuffle neighbours are independent."""
    _, labels = flat(train(shards, num_steps=800, batch=12))
    pairs = np.stack([labels[:-1], labels[1:]])
    follows = np.mean((pairs[1] - pairs[0]) % 3 == 1)
    assert abs(follows - 1 / 3) < 4 * np.sqrt(2 / 9 / pairs.shape[1])


def test_all_caches_give_the_same_batches(shards):
    memory, disk, none = (
        flat(train(shards, cache=cache, augment=AUGMENT, num_steps=9))
        for cache in ("memory", "disk", "none")
    )
    assert memory == disk == none


def test_a_run_that_starts_later_sees_what_the_whole_run_saw(shards):
    whole = train(shards, augment=AUGMENT, num_steps=14)
    later = train(shards, augment=AUGMENT, start_step=9, num_steps=5)
    assert flat(later) == flat(whole[9:])


def test_large_images_are_augmented_in_parts_and_keep_order_and_resumption(shards, monkeypatch):
    whole = flat(train(shards, num_steps=14))
    monkeypatch.setattr(parts, "_PART_BYTES", 5 * 4 * 16)
    flips = AugmentConfig(horizontal_flip=True)
    in_parts = train(shards, augment=flips, num_steps=14)
    assert {images.shape for images, _ in in_parts} == {(12, 4, 4, 1)}
    assert flat(in_parts)[1] == whole[1]
    later = train(shards, augment=flips, start_step=9, num_steps=5)
    assert flat(later) == flat(in_parts[9:])


def test_stages_come_in_one_order(shards, monkeypatch):
    monkeypatch.setattr(parts, "_PART_BYTES", 5 * 4 * 16)
    stages = chain.train_stages(
        shards,
        decode=decoding.Decoder(data_factories.data_config()),
        input_config=InputConfig(augment=AugmentConfig(horizontal_flip=True, mixup_alpha=0.2)),
        global_batch_size=12,
        num_classes=3,
        seed=0,
    )
    sizes = {name: dataset.element_spec for name, dataset in stages.items()}
    assert list(stages) == ["order", "read", "augment", "batch", "mix", "prefetch"]
    assert sizes["order"][1].shape == (4,)
    images = [sizes[name][1][0] for name in ("read", "augment", "batch", "mix")]
    assert [spec.shape[0] for spec in images] == [4, 4, 12, 12]
    assert sizes["prefetch"][0].shape == (12, 4, 4, 1)
    assert sizes["prefetch"][1].shape == (12, 3)


def test_stages_without_anything_to_do_are_left_out(shards):
    stages = chain.train_stages(
        shards,
        decode=decoding.Decoder(data_factories.data_config()),
        input_config=InputConfig(),
        global_batch_size=12,
        seed=0,
    )
    assert list(stages) == ["order", "read", "prefetch"]


def test_mixing_keeps_the_order_and_resumes(shards):
    options = {"augment": AugmentConfig(cutmix_alpha=1.0), "num_classes": 3}
    whole = train(shards, num_steps=14, **options)
    later = train(shards, start_step=9, num_steps=5, **options)
    assert flat(later) == flat(whole[9:])
    _, labels = flat(train(shards, num_steps=14))
    own = np.concatenate([batch for _, batch in whole])[np.arange(14 * 12), labels]
    assert own.mean() > 0.5


def test_mixing_without_classes_is_refused(shards):
    with pytest.raises(ValueError, match="mixup_alpha=0.2, cutmix_alpha=0.0, num_classes=None"):
        train(shards, augment=AugmentConfig(mixup_alpha=0.2), num_steps=1)


def test_a_start_after_billions_of_steps_is_immediate(shards):
    assert len(train(shards, start_step=10**12, num_steps=1)) == 1


def test_any_integer_is_a_seed(shards):
    assert len(train(shards, seed=-(2**70), augment=AUGMENT, num_steps=1)) == 1


def test_augmentation_is_drawn_anew_in_each_pass(shards):
    one_pass, next_pass = (
        sorted(flat(train(shards, augment=AUGMENT, start_step=step, num_steps=8))[0])
        for step in (0, 8)
    )
    assert one_pass != next_pass


def test_batches_have_static_shapes(shards):
    dataset = chain.train_dataset(
        shards,
        decode=decoding.Decoder(data_factories.data_config()),
        input_config=InputConfig(augment=AUGMENT),
        global_batch_size=12,
        seed=0,
    )
    images_spec, labels_spec = dataset.element_spec
    assert (images_spec.shape, labels_spec.shape) == ((12, 4, 4, 1), (12,))


def test_dataset_without_num_steps_has_no_end(shards):
    dataset = chain.train_dataset(
        shards,
        decode=decoding.Decoder(data_factories.data_config()),
        input_config=InputConfig(),
        global_batch_size=12,
        seed=0,
    )
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY


@pytest.mark.parametrize("cache", ["memory", "disk", "none"])
@pytest.mark.parametrize("batch", [96, 32, 36, 100])
def test_evaluation_sees_each_example_once_and_masks_the_rest(shards, cache, batch):
    dataset = chain.eval_dataset(
        shards,
        decode=decoding.Decoder(data_factories.data_config()),
        global_batch_size=batch,
        cache=cache,
    )
    found = [
        (image.tobytes(), label)
        for images, labels, weights in dataset.as_numpy_iterator()
        for image, label, weight in zip(images, labels, weights, strict=True)
        if weight == 1.0
    ]
    assert len(found) == NUM_ROWS and dict(found) == expected_images()


def test_evaluation_batches_have_one_shape_and_weights_of_zero_and_one(shards):
    dataset = chain.eval_dataset(
        shards, decode=decoding.Decoder(data_factories.data_config()), global_batch_size=36
    )
    assert [spec.shape[0] for spec in dataset.element_spec] == [36, 36, 36]
    weights = np.concatenate([weights for _, _, weights in dataset.as_numpy_iterator()])
    assert weights.tolist() == [1.0] * NUM_ROWS + [0.0] * 12


@pytest.mark.parametrize("batch", [0, 97])
def test_batch_that_the_data_does_not_fill_is_refused(shards, batch):
    with pytest.raises(ValueError, match=f"global_batch_size={batch}, examples=96"):
        train(shards, batch=batch, num_steps=1)


REPLICAS = """
import json, sys
import tensorflow as tf
from components.input_pipeline import chain, decoding
from components.input_pipeline.config import AugmentConfig, InputConfig
from tests.components import data_factories

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
augment = AugmentConfig(horizontal_flip=True, max_translation_px=1)
decode = decoding.Decoder(data_factories.data_config())
seen = []
for count in (1, 2, 4):
    strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(count)])
    dataset = chain.train_dataset(
        sys.argv[1:], decode=decode, input_config=InputConfig(augment=augment),
        global_batch_size=12, seed=3, num_steps=8,
    )
    steps = []
    for images, _ in strategy.experimental_distribute_dataset(dataset):
        parts = strategy.experimental_local_results(images)
        steps.append([[row.tobytes().hex() for row in part.numpy()] for part in parts])
    seen.append(steps)
print(json.dumps(seen))
"""


def test_replicas_share_the_batches_of_one_device(shards):
    one, two, four = json.loads(data_factories.run_python(REPLICAS, *shards))
    for steps, count in ((one, 1), (two, 2), (four, 4)):
        assert {len(part) for step in steps for part in step} == {12 // count}
    joined = [
        [row for step in steps for part in step for row in part] for steps in (one, two, four)
    ]
    images, _ = flat(train(shards, augment=AUGMENT, num_steps=8))
    assert joined == [[image.hex() for image in images]] * 3
