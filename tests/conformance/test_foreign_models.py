"""SavedModels of others, from the tfx package: an Estimator's export and a Keras 2 export."""

import base64
import importlib.util
import pathlib

import pytest
import tensorflow as tf

from tests.serving import harness

TFX = pathlib.Path(importlib.util.find_spec("tfx").submodule_search_locations[0])
TRAINER = TFX / "components" / "testdata" / "trainer"


def make_example(**features: float) -> str:
    example = tf.train.Example()
    for name, value in features.items():
        example.features.feature[name].float_list.value.append(value)
    return base64.b64encode(example.SerializeToString()).decode()


PENGUIN = {
    "body_mass_g": 0.3, "culmen_depth_mm": 0.5, "culmen_length_mm": 0.2, "flipper_length_mm": 0.4,
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("foreign")
    (taxi,) = (TRAINER / "current" / "Format-Serving" / "export" / "chicago-taxi").iterdir()
    for name, directory in {"taxi": taxi, "penguin": TRAINER / "keras" / "Format-Serving"}.items():
        (base / name).mkdir()
        (base / name / "1").symlink_to(directory)
    config = base / "models.config"
    config.write_text(
        "model_config_list {"
        + "".join(
            f'config {{ name: "{name}" base_path: "{base}/{name}" }}'
            for name in ("taxi", "penguin")
        )
        + "}"
    )
    with harness.serve(model_config_file=str(config)) as running:
        yield running


def test_estimator_classifies_examples(server):
    body = {"signature_name": "classification", "examples": [{}, {"trip_miles": 2.5}]}
    results = server.post("/v1/models/taxi:classify", body).json()["results"]
    assert [[label for label, _ in pairs] for pairs in results] == [["0", "1"]] * 2
    assert all(sum(score for _, score in pairs) == pytest.approx(1) for pairs in results)


def test_estimator_regresses_examples(server):
    body = {"signature_name": "regression", "examples": [{}]}
    (value,) = server.post("/v1/models/taxi:regress", body).json()["results"]
    assert 0 <= value <= 1


def test_estimator_predicts_seven_outputs(server):
    body = {"signature_name": "predict", "instances": [{"b64": make_example(trip_miles=2.5)}]}
    (row,) = server.post("/v1/models/taxi:predict", body).json()["predictions"]
    assert set(row) == {
        "all_class_ids", "all_classes", "class_ids", "classes", "logistic", "logits",
        "probabilities",
    }  # fmt: skip
    assert sum(row["probabilities"]) == pytest.approx(1)


def test_keras_2_export_predicts(server):
    body = {"instances": [{"b64": make_example(**PENGUIN)}]}
    ((*scores,),) = server.post("/v1/models/penguin:predict", body).json()["predictions"]
    assert len(scores) == 3


def test_example_without_a_required_feature_is_the_clients_fault(server):
    response = server.post("/v1/models/penguin:predict", {"instances": [{"b64": ""}]})
    assert response.status_code == 400
    assert "is required but could not be found" in response.json()["error"]


@pytest.mark.parametrize("engine", ["session", "signature"])
def test_both_engines_answer_alike(tmp_path, server, engine):
    (tmp_path / "1").symlink_to(TRAINER / "keras" / "Format-Serving")
    settings = {"model_name": "penguin", "model_base_path": str(tmp_path), "engine": engine}
    body = {"instances": [{"b64": make_example(**PENGUIN)}]}
    expected = server.post("/v1/models/penguin:predict", body).json()
    with harness.serve(**settings) as other:
        assert other.post("/v1/models/penguin:predict", body).json() == expected
