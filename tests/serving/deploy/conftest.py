"""Configs that the tests of the deployment share."""

import pytest

from serving.deploy import config as deploy_config


@pytest.fixture(scope="session")
def make_config():
    """Makes a config that serves the model `digits`, with keys changed."""

    def make(**keys):
        return deploy_config.DeployConfig.from_dict({"models": [{"name": "digits"}], **keys})

    return make


@pytest.fixture(scope="session")
def full_config(make_config):
    """A config that uses every optional part."""
    return make_config(
        name="shop",
        models=[
            {"name": "digits", "versions": [3, 4], "labels": {"stable": 3, "canary": 4}},
            {"name": "fashion_mnist", "path": "elsewhere/fashion", "latest": 2},
        ],
        batching={"allowed_batch_sizes": [1, 8, 128], "pad_variable_length_inputs": True},
        tls={"secret": "shop-tls"},
        accelerator={"count": 2, "node_labels": {"cloud.example/accelerator": "a100"}},
        cluster={"namespace": "vision"},
        kubernetes={"client_namespaces": ["monitoring", "web"]},
    )
