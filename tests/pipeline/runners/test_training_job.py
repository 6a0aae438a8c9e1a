"""Checks the manifests of a training job, and trains with the settings that its pods would get."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tomllib

import kubernetes_validate
import pytest
import yaml

from pipeline import recipe_files
from pipeline.cli import main
from pipeline.config import RunConfig
from pipeline.runners import training_job

_ROOT = pathlib.Path(__file__).parents[3]
_RUN = RunConfig(num_workers=2, image="registry/kerasline:1", volume_claim="shared")


def _documents(tmp_path, compile_job, run=_RUN):
    output = tmp_path / "job.yaml"
    compile_job(recipe_files.load("fashion_mnist"), run, output)
    return {each["kind"]: each for each in yaml.safe_load_all(output.read_text())}


def _pod_of_train_job(documents):
    (job,) = documents["TrainingRuntime"]["spec"]["template"]["spec"]["replicatedJobs"]
    return job["template"]["spec"]["template"]["spec"]


def _tf_config(pod, index):
    """Puts in what Kubernetes would."""
    (container,) = pod["containers"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    return json.loads(variables["TF_CONFIG"].replace("$(WORKER_INDEX)", str(index)))


def test_every_object_of_kubernetes_fits_its_schema(tmp_path):
    documents = _documents(tmp_path, training_job.compile_kubernetes)
    assert set(documents) == {"ConfigMap", "Service", "Job"}
    for document in documents.values():
        kubernetes_validate.validate(document, "1.33", strict=True)


def test_the_pods_of_a_train_job_fit_the_schema_of_kubernetes(tmp_path):
    documents = _documents(tmp_path, training_job.compile_kubeflow_trainer)
    assert set(documents) == {"ConfigMap", "TrainingRuntime", "TrainJob"}
    pod = {**_pod_of_train_job(documents), "restartPolicy": "Never"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}
    kubernetes_validate.validate({**job, "spec": {"template": {"spec": pod}}}, "1.33", strict=True)
    kubernetes_validate.validate(documents["ConfigMap"], "1.33", strict=True)


def test_the_workers_names_are_those_that_kubernetes_gives(tmp_path):
    documents = _documents(tmp_path, training_job.compile_kubernetes)
    spec = documents["Job"]["spec"]["template"]["spec"]
    assert spec["subdomain"] == documents["Service"]["metadata"]["name"]
    name = documents["Job"]["metadata"]["name"]
    # <job>-<index>.<subdomain>
    assert _tf_config(spec, 1) == {
        "cluster": {"worker": [f"{name}-0.{name}:2222", f"{name}-1.{name}:2222"]},
        "task": {"type": "worker", "index": 1},
    }


def test_the_workers_names_are_those_that_a_job_set_gives(tmp_path):
    documents = _documents(tmp_path, training_job.compile_kubeflow_trainer)
    name = documents["TrainJob"]["metadata"]["name"]
    # <set>-<replicated job>-<job index>-<pod index>.<set>
    assert _tf_config(_pod_of_train_job(documents), 0)["cluster"]["worker"] == [
        f"{name}-node-0-0.{name}:2222",
        f"{name}-node-0-1.{name}:2222",
    ]


def test_the_index_stands_before_the_variable_that_uses_it(tmp_path):
    documents = _documents(tmp_path, training_job.compile_kubernetes)
    (container,) = documents["Job"]["spec"]["template"]["spec"]["containers"]
    names = [each["name"] for each in container["env"]]
    assert names.index("WORKER_INDEX") < names.index("TF_CONFIG")


def test_the_pods_get_the_resolved_recipe(tmp_path):
    documents = _documents(tmp_path, training_job.compile_kubernetes)
    text = documents["ConfigMap"]["data"]["recipe.toml"]
    assert tomllib.loads(text) == recipe_files.load("fashion_mnist").to_dict()


def test_another_recipe_has_another_config_map(tmp_path):
    names = []
    for seed in (1, 2):
        output = tmp_path / "job.yaml"
        recipe = recipe_files.load("digits", (f"seed={seed}",))
        training_job.compile_kubernetes(recipe, _RUN, output)
        names += [
            each["metadata"]["name"]
            for each in yaml.safe_load_all(output.read_text())
            if each["kind"] == "ConfigMap"
        ]
    assert len(set(names)) == 2


def test_a_strategy_of_one_machine_is_refused(tmp_path, capsys):
    words = ("--runner", "kubernetes-job", "--strategy", "tpu", "-o", str(tmp_path / "j.yaml"))
    assert main.main(["compile", "digits", *words]) == 2
    assert "which use several machines. Received: strategy='tpu'" in capsys.readouterr().err


def test_a_root_beside_a_claim_is_refused(tmp_path, capsys):
    words = ("--runner", "kubeflow-trainer", "--root", "s3://b/r", "-o", str(tmp_path / "j.yaml"))
    assert main.main(["compile", "digits", *words]) == 2
    assert "Received: --root s3://b/r. Leave it out." in capsys.readouterr().err


def test_two_pods_train_one_model(tmp_path):
    output = tmp_path / "job.yaml"
    changes = ("training.num_epochs=1", "training.steps_per_execution=1")
    training_job.compile_kubernetes(recipe_files.load("digits", changes), _RUN, output)
    documents = {each["kind"]: each for each in yaml.safe_load_all(output.read_text())}
    (tmp_path / "recipe.toml").write_text(documents["ConfigMap"]["data"]["recipe.toml"])
    spec = documents["Job"]["spec"]["template"]["spec"]
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(2)]
    workers = [_start_worker(tmp_path, spec, index, addresses) for index in range(2)]
    answers = [worker.communicate(timeout=240)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], answers
    assert ["The model is" in answer for answer in answers] == [True, False]
    folder = tmp_path / "digits" / "train"
    assert (folder / "model.keras").is_file()
    assert (folder / "log.jsonl").is_file() and (folder / "worker-1.jsonl").is_file()


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _start_worker(folder, spec, index, addresses):
    (container,) = spec["containers"]
    places = {"/runs": str(folder), "/recipe/recipe.toml": str(folder / "recipe.toml")}
    words = [places.get(word, word) for word in container["args"]]
    tf_config = _tf_config(spec, index)
    tf_config["cluster"]["worker"] = addresses
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli.main", *words],
        cwd=_ROOT,
        env={
            **os.environ,
            "TF_CONFIG": json.dumps(tf_config),
            "XDG_CACHE_HOME": str(folder / ".cache"),
            "CUDA_VISIBLE_DEVICES": "-1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("runner", ["kubernetes-job", "kubeflow-trainer"])
def test_the_same_command_writes_the_same_bytes(tmp_path, runner):
    texts = []
    for name in ("a.yaml", "b.yaml"):
        words = ("--runner", runner, "--workers", "3", "-o", str(tmp_path / name))
        assert main.main(["compile", "digits", *words]) == 0
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]
    assert str(tmp_path).encode() not in texts[0]
