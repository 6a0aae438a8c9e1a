"""Multi-machine training as manifests: one pod a worker, which find each other through TF_CONFIG.

Without TFX: the pods run `kerasline train`. Kubernetes numbers the pods of an indexed Job, and sets
variables that name others, so that TF_CONFIG needs neither an operator nor a program of its own.
The same pods run as a TrainJob of Kubeflow Trainer 2, which has no runtime for TensorFlow.
"""

import hashlib
import json
import pathlib
import re
from typing import Any

import yaml

from pipeline import toml_text
from pipeline.config import Recipe, RunConfig

Object = dict[str, Any]

_WORKER_PORT = 2222
_RUNS, _RECIPE_FILE = "/runs", "recipe.toml"
_INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index"
# What SIGTERM's checkpoint may take before the pod is killed.
_GRACE_SECS = 30
_USER = 1000
# Kubeflow's name for the pods that train, and the label that a runtime marks them with.
_KUBEFLOW_POD, _KUBEFLOW_STEP = "node", "trainer.kubeflow.org/trainjob-ancestor-step"
_CLUSTER_STRATEGIES = ("auto", "multi_worker_mirrored")


def compile_kubernetes(recipe: Recipe, run: RunConfig, output: pathlib.Path) -> None:
    """Writes an indexed Job, the Service that gives its pods names, and the recipe.

    Args:
        recipe: What is learned.
        run: Where it runs: `num_workers`, `image`, and `volume_claim`, a claim that all pods can
            write to (ReadWriteMany).
        output: The YAML file to write.

    Raises:
        ValueError: If the strategy is one for a single machine.
    """
    _check(run)
    name = _name(recipe)
    hosts = [f"{name}-{index}.{name}" for index in range(run.num_workers)]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(name),
        "spec": {
            "completionMode": "Indexed",
            "completions": run.num_workers,
            "parallelism": run.num_workers,
            # A pod that died goes on from the last checkpoint, and the others wait for it.
            "backoffLimit": 10 * run.num_workers,
            "template": {
                "metadata": {"labels": _labels(name)},
                "spec": {
                    "subdomain": name,
                    "restartPolicy": "OnFailure",
                    **_pod(recipe, run, hosts, container="worker"),
                },
            },
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name),
        # Headless, and before the pods are ready: TensorFlow waits for all of them at its start.
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": _labels(name),
            "ports": [{"name": "tensorflow", "port": _WORKER_PORT}],
        },
    }
    _write(output, [_config_map(recipe), service, job])


def compile_kubeflow_trainer(recipe: Recipe, run: RunConfig, output: pathlib.Path) -> None:
    """Writes a TrainingRuntime and the TrainJob that uses it, for Kubeflow Trainer 2.

    See `compile_kubernetes`.
    """
    _check(run)
    name = _name(recipe)
    # The names that a JobSet gives its pods; the number of pods is the runtime's, not a template's.
    pods = f"{name}-{_KUBEFLOW_POD}-0"
    hosts = [f"{pods}-{index}.{name}" for index in range(run.num_workers)]
    job = {
        "name": _KUBEFLOW_POD,
        "template": {
            "metadata": {"labels": {_KUBEFLOW_STEP: "trainer"}},
            "spec": {"template": {"spec": _pod(recipe, run, hosts, container=_KUBEFLOW_POD)}},
        },
    }
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": _metadata(name),
        "spec": {
            "mlPolicy": {"numNodes": run.num_workers},
            "template": {"spec": {"replicatedJobs": [job]}},
        },
    }
    train_job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": _metadata(name),
        "spec": {
            "runtimeRef": {
                "apiGroup": "trainer.kubeflow.org",
                "kind": "TrainingRuntime",
                "name": name,
            },
            "trainer": {"numNodes": run.num_workers},
        },
    }
    _write(output, [_config_map(recipe), runtime, train_job])


def _check(run: RunConfig) -> None:
    if run.strategy not in _CLUSTER_STRATEGIES:
        raise ValueError(
            f"`strategy` must be one of {', '.join(_CLUSTER_STRATEGIES)}, which use several "
            f"machines. Received: strategy={run.strategy!r}. Change it."
        )


def _name(recipe: Recipe) -> str:
    """Returns a name that Kubernetes takes: lower-case letters, digits and hyphens."""
    return f"{re.sub(r'[^a-z0-9]+', '-', recipe.name).strip('-')}-train"


def _labels(name: str) -> Object:
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "kerasline"}


def _metadata(name: str) -> Object:
    return {"name": name, "labels": _labels(name)}


def _config_map(recipe: Recipe) -> Object:
    """The recipe, under a name that changes with it, so that a pod never reads another."""
    text = toml_text.dumps(recipe.to_dict()) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**_metadata(_name(recipe)), "name": f"{_name(recipe)}-{digest}"},
        "immutable": True,
        "data": {_RECIPE_FILE: text},
    }


def _pod(recipe: Recipe, run: RunConfig, hosts: list[str], *, container: str) -> Object:
    config_name = _config_map(recipe)["metadata"]["name"]
    return {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": _GRACE_SECS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(run, hosts, name=container)],
        "volumes": [
            {"name": "runs", "persistentVolumeClaim": {"claimName": run.volume_claim}},
            {"name": "recipe", "configMap": {"name": config_name}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }


def _container(run: RunConfig, hosts: list[str], *, name: str) -> Object:
    arguments = ["train", f"/recipe/{_RECIPE_FILE}", "--root", _RUNS]
    return {
        "name": name,
        "image": run.image,
        "command": ["kerasline"],
        "args": [*arguments, "--strategy", "multi_worker_mirrored"],
        "env": _environment(hosts),
        "ports": [{"name": "tensorflow", "containerPort": _WORKER_PORT}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "runs", "mountPath": _RUNS},
            {"name": "recipe", "mountPath": "/recipe", "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }


def _environment(hosts: list[str]) -> list[Object]:
    cluster = {"worker": [f"{host}:{_WORKER_PORT}" for host in hosts]}
    task = '{"type": "worker", "index": $(WORKER_INDEX)}'
    path = f"metadata.annotations['{_INDEX_ANNOTATION}']"
    return [
        # Before TF_CONFIG: Kubernetes puts in only what stands above.
        {"name": "WORKER_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}},
        {"name": "TF_CONFIG", "value": f'{{"cluster": {json.dumps(cluster)}, "task": {task}}}'},
        # Data that is ingested once serves all workers.
        {"name": "XDG_CACHE_HOME", "value": f"{_RUNS}/.cache"},
    ]


def _write(output: pathlib.Path, documents: list[Object]) -> None:
    output.write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
