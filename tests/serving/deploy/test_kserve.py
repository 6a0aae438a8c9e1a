import kubernetes_validate
import pytest

from serving.deploy import kserve

# KServe's reference: what a predictor has besides the fields of a pod.
EXTENSION_FIELDS = {
    "canaryTrafficPercent": int,
    "minReplicas": int,
    "maxReplicas": int,
    "scaleMetric": str,
    "scaleTarget": int,
}


@pytest.fixture(scope="module")
def service(make_config):
    config = make_config(accelerator={}, kserve={"canary_percent": 10})
    return kserve.render(config)["inferenceservice.yaml"]


@pytest.fixture(scope="module")
def predictor(service):
    return service["spec"]["predictor"]


def test_service_has_the_fields_of_the_reference(service, predictor):
    assert service.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert service["apiVersion"] == "serving.kserve.io/v1beta1"
    assert service["kind"] == "InferenceService"
    assert service["spec"].keys() == {"predictor"}
    assert {name: type(predictor[name]) for name in EXTENSION_FIELDS} == EXTENSION_FIELDS
    assert predictor["scaleMetric"] in {"concurrency", "rps", "cpu", "memory"}


@pytest.mark.parametrize("version", ["1.29", "1.37"])
def test_rest_of_the_predictor_fits_the_schema_of_a_pod(service, predictor, version):
    spec = {name: value for name, value in predictor.items() if name not in EXTENSION_FIELDS}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": service["metadata"], "spec": spec}
    kubernetes_validate.validate(pod, version, strict=True)


def test_config_map_fits_its_schema_and_is_mounted(make_config):
    rendered = kserve.render(make_config())
    kubernetes_validate.validate(rendered["configmap.yaml"], "1.37", strict=True)
    volumes = rendered["inferenceservice.yaml"]["spec"]["predictor"]["volumes"]
    names = [each["configMap"]["name"] for each in volumes if "configMap" in each]
    assert names == [rendered["configmap.yaml"]["metadata"]["name"]]


def test_canary_gets_its_share_in_the_mode_that_splits_requests(service, predictor):
    assert predictor["canaryTrafficPercent"] == 10
    assert service["metadata"]["annotations"]["serving.kserve.io/deploymentMode"] == "Serverless"


def test_container_is_one_that_kserve_and_knative_accept(predictor):
    (container,) = predictor["containers"]
    assert container["name"] == "kserve-container"
    assert [port["containerPort"] for port in container["ports"]] == [8501]
    assert not {"startupProbe", "lifecycle"} & container.keys()


def test_readiness_asks_a_route_that_fails_without_an_available_version(predictor):
    probe = predictor["containers"][0]["readinessProbe"]
    assert probe["httpGet"] == {"path": "/v1/models/digits/metadata", "port": 8501}


def test_several_models_are_refused(make_config):
    config = make_config(models=[{"name": "a"}, {"name": "b"}])
    with pytest.raises(ValueError, match=r"exactly one model.* Received: models = \['a', 'b'\]"):
        kserve.render(config)


def test_tls_is_refused_because_the_gateway_ends_it(make_config):
    with pytest.raises(ValueError, match="cannot use tls, .*Remove tls."):
        kserve.render(make_config(tls={}))
