import kubernetes_validate
import pytest

from serving.deploy import kubernetes

VERSIONS = ("1.29", "1.33", "1.37")


@pytest.fixture(scope="module")
def objects(full_config):
    return kubernetes.render(full_config)


@pytest.fixture(scope="module")
def pod(objects):
    return objects["deployment.yaml"]["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def container(pod):
    (only,) = pod["containers"]
    return only


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_fits_the_schema_of_kubernetes(make_config, full_config, version):
    for config in (make_config(), full_config):
        for document in kubernetes.render(config).values():
            kubernetes_validate.validate(document, version, strict=True)


def test_schema_would_refuse_a_misspelt_key(objects):
    wrong = {**objects["service.yaml"], "spek": {}}
    with pytest.raises(kubernetes_validate.ValidationError, match="spek"):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_there_is_one_object_of_each_kind(objects):
    assert sorted(document["kind"] for document in objects.values()) == [
        "ConfigMap",
        "Deployment",
        "HorizontalPodAutoscaler",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    ]


def test_container_has_what_the_restricted_security_standard_asks_for(container):
    context = container["securityContext"]
    assert context["runAsNonRoot"] is True and context["runAsUser"] > 0
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_only_tmp_can_be_written_to(pod, container):
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    writable = {each["name"] for each in container["volumeMounts"] if not each.get("readOnly")}
    assert writable == {"tmp"}
    (tmp,) = [each for each in pod["volumes"] if each["name"] == "tmp"]
    assert "emptyDir" in tmp


def test_every_mount_has_a_volume(pod, container):
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in pod["volumes"]}


def test_requests_stay_below_limits(container):
    assert container["resources"] == {
        "requests": {"cpu": "1000m", "memory": "1024Mi"},
        "limits": {"cpu": "2000m", "memory": "2048Mi", "nvidia.com/gpu": "2"},
    }


def test_accelerator_brings_its_toleration_and_nodes(pod):
    assert pod["nodeSelector"] == {"cloud.example/accelerator": "a100"}
    assert pod["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


def test_server_without_an_accelerator_stays_off_tainted_nodes(make_config):
    spec = kubernetes.render(make_config())["deployment.yaml"]["spec"]["template"]["spec"]
    assert "tolerations" not in spec and "nodeSelector" not in spec


def test_selectors_find_the_pods(objects):
    spec = objects["deployment.yaml"]["spec"]
    labels = spec["template"]["metadata"]["labels"].items()
    selectors = [
        spec["selector"]["matchLabels"],
        objects["service.yaml"]["spec"]["selector"],
        objects["poddisruptionbudget.yaml"]["spec"]["selector"]["matchLabels"],
        objects["networkpolicy.yaml"]["spec"]["podSelector"]["matchLabels"],
    ]
    assert all(selector and selector.items() <= labels for selector in selectors)


def test_autoscaler_owns_the_number_of_replicas(objects):
    target = objects["horizontalpodautoscaler.yaml"]["spec"]["scaleTargetRef"]
    deployment = objects["deployment.yaml"]
    assert (target["kind"], target["name"]) == ("Deployment", deployment["metadata"]["name"])
    assert "replicas" not in deployment["spec"]


def test_liveness_does_not_look_at_the_state(container):
    assert container["livenessProbe"]["httpGet"] == {"path": "/v1/models/digits", "port": 8501}


def test_startup_may_take_as_long_as_the_config_says(make_config):
    spec = kubernetes.render(make_config(startup_secs=301))["deployment.yaml"]["spec"]
    probe = spec["template"]["spec"]["containers"][0]["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 301


def test_server_calls_nobody_and_only_named_namespaces_call_it(objects):
    spec = objects["networkpolicy.yaml"]["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"] and spec["egress"] == []
    (rule,) = spec["ingress"]
    assert rule["from"] == [
        {"podSelector": {}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "web"}}},
    ]


def test_everything_is_in_the_namespace_of_the_config(objects):
    assert {each["metadata"]["namespace"] for each in objects.values()} == {"vision"}


def test_changed_server_file_gives_the_deployment_another_config_map(make_config):
    def names(config):
        rendered = kubernetes.render(config)
        volumes = rendered["deployment.yaml"]["spec"]["template"]["spec"]["volumes"]
        (mounted,) = [each["configMap"]["name"] for each in volumes if "configMap" in each]
        assert mounted == rendered["configmap.yaml"]["metadata"]["name"]
        return mounted

    assert names(make_config()) == names(make_config(grpc_port=9000))
    assert names(make_config()) != names(make_config(models=[{"name": "digits", "versions": [1]}]))


def test_pods_tell_prometheus_where_to_look_unless_monitoring_is_off(make_config):
    def annotations(config):
        spec = kubernetes.render(config)["deployment.yaml"]["spec"]
        return spec["template"]["metadata"].get("annotations", {})

    assert annotations(make_config())["prometheus.io/port"] == "8501"
    assert annotations(make_config(monitoring={"is_enabled": False})) == {}
