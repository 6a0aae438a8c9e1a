import socket

import numpy as np
import pytest

from components.ingest import ingest
from components.input_pipeline import chain, decoding, parts, service
from components.input_pipeline.config import InputConfig
from tests.components import data_factories

NUM_ROWS = 96


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Shards of 96 examples that all differ."""
    folder = tmp_path_factory.mktemp("data")
    source = data_factories.write_idx_dataset(folder / "source", num_train=60, num_test=NUM_ROWS)
    dataset = ingest.ingest_source(
        source, data_factories.data_config(), seed=0, cache_dir=folder / "cache"
    )
    return [str(dataset.path / shard.path) for shard in dataset.manifest.splits["test"].shards]


@pytest.fixture(scope="module")
def address():
    return service.start_local(2)


def batches(shards, *, service=None, cache="auto", augment=None):
    dataset = chain.train_dataset(
        shards,
        decode=decoding.Decoder(data_factories.data_config()),
        input_config=InputConfig.from_dict({"cache": cache, "augment": augment or {}}),
        global_batch_size=12,
        seed=3,
        num_steps=16,
        service=service,
    )
    return [
        (tuple(image.tobytes() for image in images), tuple(labels.tolist()))
        for images, labels in dataset.as_numpy_iterator()
    ]


def test_two_workers_give_each_example_once_per_pass(shards, address):
    images = [image for batch, _ in batches(shards, service=address) for image in batch]
    found, counts = np.unique(images, return_counts=True)
    assert len(found) == NUM_ROWS and set(counts) == {2}


def test_batches_are_those_of_a_run_without_a_service_in_another_order(shards, address):
    augment = {"horizontal_flip": True, "max_translation_px": 1}
    alone = batches(shards, augment=augment)
    assert sorted(batches(shards, service=address, augment=augment)) == sorted(alone)


def test_batches_in_parts_stay_together(shards, address, monkeypatch):
    monkeypatch.setattr(parts, "_PART_BYTES", 5 * 4 * 16)
    augment = {"horizontal_flip": True, "brightness": 0.3}
    alone = batches(shards, augment=augment)
    assert sorted(batches(shards, service=address, augment=augment)) == sorted(alone)


@pytest.mark.parametrize("name", ["localhost", "local:0", ":80", "host:port"])
def test_address_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match=f"HOST:PORT .* data_service='{name}'"):
        service.check(name)


def test_cache_of_the_trainer_is_refused(shards):
    with pytest.raises(ValueError, match='input.cache = "memory". Set it to "auto" or "none"'):
        batches(shards, service="localhost:1", cache="memory")


def test_port_that_is_taken_is_named():
    with socket.socket(socket.AF_INET6) as taken:
        taken.bind(("::", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(service.ServiceError, match=f"port={port} .* Choose another port"):
            service.run_dispatcher(port)
