import pathlib
import re

import pydantic
import pytest

from serving.deploy import config as deploy_config

LOCK = pathlib.Path(__file__).parents[3] / "requirements" / "runtime.txt"


def test_image_is_of_the_minor_version_of_the_locked_tensorflow(make_config):
    locked = re.search(r"^tensorflow==(\d+\.\d+)\.", LOCK.read_text(encoding="utf-8"), re.M)[1]
    assert re.fullmatch(rf"tensorflow/serving:{re.escape(locked)}\.\d+", make_config().server_image)


def test_image_with_an_accelerator_is_the_one_for_gpus(make_config):
    assert make_config(accelerator={}).server_image.endswith("-gpu")


def test_config_survives_the_way_through_plain_data(full_config):
    assert deploy_config.DeployConfig.from_dict(full_config.to_dict()) == full_config


@pytest.mark.parametrize("image", ["a/b:1.2", "host.example:5000/a/b:1", "a@sha256:" + "0" * 64])
def test_image_with_a_fixed_tag_or_digest_is_accepted(make_config, image):
    assert make_config(image=image).server_image == image


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"models": []}, "at least 1 item"),
        ({"grpc_port": 8501}, "grpc_port and rest_port must differ. Received: grpc_port = 8501"),
        ({"grpc_port": 80}, "greater than or equal to 1024"),
        ({"kserve": {"canary_percent": 101}}, "less than or equal to 100"),
        ({"kserve": {"canary_percent": -1}}, "greater than or equal to 0"),
        ({"name": "My_App"}, "becomes part of DNS names. Received: name = 'My_App'"),
        ({"name": "a" * 41}, "1 to 40 lower-case letters"),
        ({"name": "ends-"}, "not end with -"),
        ({"cluster": {"namespace": "a.b"}}, "namespace must be a DNS label"),
        ({"cluster": {"claim": "-a"}}, "claim must be a DNS label"),
        ({"tls": {"secret": "A"}}, "secret must be a DNS label"),
        ({"kubernetes": {"client_namespaces": ["a_b"]}}, "client_namespaces must be a DNS label"),
        ({"cluster": {"min_replicas": 7}}, "min_replicas must be at most max_replicas"),
        ({"image": "tensorflow/serving"}, "image must have a fixed tag or digest"),
        ({"image": "tensorflow/serving:latest"}, "image must have a fixed tag or digest"),
        ({"image": "host:5000/serving"}, "image must have a fixed tag or digest"),
        ({"resources": {"cpu_request": 3.0}}, "at most its limit. Received: cpu_request = 3"),
        ({"resources": {"memory_request_mib": 4096}}, "Received: memory_request = 4096"),
        ({"accelerator": {"resource": "gpu"}}, "must be a device plugin's name"),
        ({"accelerator": {"taint_key": "a b"}}, "must be Kubernetes labels"),
        ({"accelerator": {"node_labels": {"a": "b c"}}}, "Received: 'b c'"),
        ({"docker": {"publish_address": "localhost"}}, "must be an IPv4 address"),
        ({"docker": {"publish_address": "1.2.3.256"}}, "must be an IPv4 address"),
        ({"monitoring": {"path": "metrics"}}, "path must start with a slash"),
        (
            {"batching": {"allowed_batch_sizes": [8, 4, 128]}},
            "allowed_batch_sizes must increase and end with max_batch_size",
        ),
        ({"batching": {"allowed_batch_sizes": [8]}}, "end with max_batch_size"),
        ({"modles": 1}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_key_is_refused_with_the_reason(make_config, keys, sentence):
    with pytest.raises(pydantic.ValidationError) as caught:
        make_config(**keys)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ({"name": "a b"}, "part of an address. Received: name = 'a b'"),
        ({"name": "$(id)"}, "part of an address"),
        ({"name": "a", "path": "/abs"}, "path must be a folder below the volume"),
        ({"name": "a", "path": "a/../b"}, "without .."),
        ({"name": "a", "path": "a/"}, "slash at either end"),
        ({"name": "a", "versions": [1], "latest": 2}, "two ways to choose"),
        ({"name": "a", "versions": [1, 1]}, "versions must name each version once"),
        ({"name": "a", "labels": {"stable": 1}}, "A label must name a version that is listed"),
        ({"name": "a", "versions": [1], "labels": {"a/b": 1}}, "A label must be 1 to 63"),
        ({"name": "a", "versions": [0]}, "greater than 0"),
    ],
)
def test_wrong_model_is_refused_with_the_reason(make_config, model, sentence):
    with pytest.raises(pydantic.ValidationError) as caught:
        make_config(models=[model])
    assert sentence in str(caught.value)


def test_model_name_that_is_used_twice_is_refused(make_config):
    with pytest.raises(pydantic.ValidationError, match=r"used once. Received: \['a'\] more than"):
        make_config(models=[{"name": "a"}, {"name": "b"}, {"name": "a"}])
