import re

import pytest

from serving.deploy import compose, server_process

# From the Compose specification: the keys of a service that are used here.
SERVICE_KEYS = {
    "image": str,
    "entrypoint": list,
    "command": list,
    "ports": list,
    "volumes": list,
    "user": str,
    "read_only": bool,
    "tmpfs": list,
    "cap_drop": list,
    "security_opt": list,
    "deploy": dict,
    "healthcheck": dict,
    "restart": str,
    "secrets": list,
}


@pytest.fixture(scope="module")
def document(make_config):
    config = make_config(tls={}, accelerator={"count": 2})
    return compose.render(config)["compose.yaml"]


@pytest.fixture(scope="module")
def service(document):
    return document["services"]["model-server"]


def test_service_has_keys_of_the_compose_specification(document, service):
    assert document.keys() == {"name", "services", "secrets"}
    assert {name: type(value) for name, value in service.items()} == SERVICE_KEYS


def test_service_cannot_write_or_gain_rights(service):
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
    assert service["user"] == "1000:1000"
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(volume["read_only"] for volume in service["volumes"])


def test_ports_are_published_on_this_machine_only(service):
    assert service["ports"] == ["127.0.0.1:8500:8500", "127.0.0.1:8501:8501"]


def test_health_check_means_the_same_after_compose_has_read_it(make_config, service):
    text = "\n".join(service["healthcheck"]["test"][1:])
    assert not re.search(r"(?<!\$)\$(?!\$)", text)
    assert text.replace("$$", "$") == "\n".join(server_process.readiness_command(make_config()))


def test_models_and_key_come_from_variables_not_from_a_path_of_this_machine(document, service):
    assert service["volumes"][0]["source"] == "${KERASLINE_ROOT:-../runs}"
    assert document["secrets"]["ssl-config"]["file"].startswith("${KERASLINE_SSL_CONFIG:?")


def test_gpus_are_reserved(service):
    (device,) = service["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": 2, "capabilities": ["gpu"]}


@pytest.mark.parametrize(
    "accelerator", [{"resource": "amd.com/gpu"}, {"node_labels": {"kind": "a100"}}]
)
def test_accelerator_that_compose_has_no_name_for_is_refused(make_config, accelerator):
    with pytest.raises(ValueError, match="docker knows nvidia.com/gpu only"):
        compose.render(make_config(accelerator=accelerator))
