import pathlib
import re
import tomllib

import pytest

from pipeline import config_errors, deployment
from serving.deploy import config as deploy_config

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "deploy.md"


def test_without_a_file_the_default_recipe_is_served():
    assert [model.name for model in deployment.load(None).models] == ["fashion_mnist"]


def test_file_is_read_and_overrides_win(tmp_path):
    path = tmp_path / "deploy.toml"
    path.write_text('name = "shop"\nrest_port = 9001\n[[models]]\nname = "digits"\n')
    config = deployment.load(path, ["rest_port=9002", "kserve.canary_percent=10"])
    assert (config.name, config.rest_port, config.kserve.canary_percent) == ("shop", 9002, 10)
    assert config.models[0].folder == "digits/published"


def test_rendered_config_gives_the_same_deployment_again():
    config = deployment.load(None, ["accelerator={}", "cluster.namespace=vision"])
    text = deployment.render_files(config, target="kubernetes")["deploy.toml"]
    assert deploy_config.DeployConfig.from_dict(tomllib.loads(text)) == config


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["kserve.canary_percent=101"], "at most 100. Received: kserve.canary_percent = 101."),
        (["models=[]"], "models must be a list of tables, at least 1 of them."),
        (["rest_port=8500"], "grpc_port and rest_port must differ."),
        (["cluster.max_replica=4"], "Did you mean cluster.max_replicas?"),
        (['models=[{name="a b"}]'], "name must be 1 to 63 letters"),
    ],
)
def test_fault_is_one_sentence_with_its_cure(values, sentence):
    with pytest.raises(config_errors.ConfigError) as caught:
        deployment.load(None, values)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_recipe_beside_models_in_the_file_is_refused(tmp_path):
    path = tmp_path / "deploy.toml"
    path.write_text('[[models]]\nname = "digits"\n')
    with pytest.raises(config_errors.ConfigError, match="name two things to serve"):
        deployment.load(path, recipe_name="digits")


def test_examples_of_the_documentation_are_valid(tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        deployment.render_files(deployment.load(path), target="kubernetes")
