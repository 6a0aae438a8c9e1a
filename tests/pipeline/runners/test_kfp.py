"""A compiled pipeline is the DAG, in the same bytes each time, with nothing of this machine."""

import getpass
import pathlib

import pytest
import yaml

from pipeline import recipe_files
from pipeline.config import RunConfig
from pipeline.runners import kubeflow, vertex
from pipeline.state import steps

_RUNNERS = {"kubeflow": kubeflow, "vertex": vertex}
_PROJECT_DIR = pathlib.Path(__file__).parents[3]


def _compile(name, output, *, root="gs://no-such-bucket/runs"):
    run = RunConfig(root=root, image="registry.example/kerasline:1")
    _RUNNERS[name].compile(recipe_files.load("fashion_mnist"), run, output)
    return output.read_text()


@pytest.fixture(scope="module", params=list(_RUNNERS))
def compiled(request, tmp_path_factory):
    """The runner's name and the text that it wrote."""
    output = tmp_path_factory.mktemp(request.param) / "pipeline.yaml"
    return request.param, _compile(request.param, output)


def test_the_same_recipe_gives_the_same_bytes(compiled, tmp_path):
    name, text = compiled
    assert _compile(name, tmp_path / "again.yaml") == text


def test_every_step_is_a_task(compiled):
    spec = yaml.safe_load(compiled[1])
    names = {task.replace("-", "_") for task in spec["root"]["dag"]["tasks"]}
    # A Resolver becomes two tasks: one for the model and one for its blessing.
    expected = {step.name for step in steps.of("image")} - {"baseline"}
    assert expected <= names
    assert {name for name in names - expected if name.startswith("baseline")} == names - expected


def test_every_container_runs_the_image_of_the_run_config(compiled):
    spec = yaml.safe_load(compiled[1])
    containers = [
        executor["container"]
        for executor in spec["deploymentSpec"]["executors"].values()
        if "container" in executor
    ]
    assert {container["image"] for container in containers} == {"registry.example/kerasline:1"}


def test_nothing_of_this_machine_is_in_it(compiled):
    for trace in (str(_PROJECT_DIR), str(pathlib.Path.home()) + "/", f"/{getpass.getuser()}/"):
        assert trace not in compiled[1]


def test_the_run_function_is_a_dotted_path(compiled):
    assert "components.trainer.run_fn.run_fn" in compiled[1]


def test_only_the_output_is_left_in_its_folder(tmp_path):
    _compile("kubeflow", tmp_path / "pipeline.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["pipeline.yaml"]


@pytest.mark.parametrize(
    ("name", "root"), [("kubeflow", "runs"), ("vertex", "runs"), ("vertex", "s3://bucket/runs")]
)
def test_a_root_that_the_service_cannot_reach_is_refused(name, root, tmp_path):
    with pytest.raises(ValueError, match=rf"Received: root='{root}'"):
        _compile(name, tmp_path / "pipeline.yaml", root=root)
    assert list(tmp_path.iterdir()) == []
