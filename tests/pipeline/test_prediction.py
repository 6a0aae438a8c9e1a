"""Checks `kerasline predict` against a real SavedModel, and its refusals."""

import io
import json
import shutil

import keras
import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from pipeline import prediction
from pipeline.cli import main
from pipeline.questions import PredictionError
from serving.export import export


def _png(shade):
    stream = io.BytesIO()
    PIL.Image.fromarray(np.full((4, 4), shade, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def _brightness_model():
    """A model whose logit for "bright" grows with the mean of the pixels."""
    image = keras.Input((4, 4, 1), name="image")
    mean = keras.layers.GlobalAveragePooling2D()(keras.layers.Rescaling(1 / 255.0)(image))
    logits = keras.layers.Dense(2, name="logits")
    model = keras.Model(image, {"logits": logits(mean)})
    logits.set_weights([np.array([[-4.0, 4.0]]), np.array([2.0, -2.0])])
    return model


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    example = tf.train.Example()
    example.features.feature["image"].bytes_list.value.append(_png(0))
    for version in ("9", "10"):
        export.export_model(
            _brightness_model(),
            folder / version,
            class_names=["dark", "bright"],
            warmup_examples=[example.SerializeToString()],
        )
    return folder


@pytest.fixture
def images(tmp_path):
    paths = [tmp_path / "black.png", tmp_path / "white.png"]
    for path, shade in zip(paths, (0, 255), strict=True):
        path.write_bytes(_png(shade))
    return paths


def _asked(paths):
    return [("--image", str(path)) for path in paths]


def test_the_highest_version_answers(published):
    assert prediction.find_model(published) == published / "10"


def test_each_image_gets_its_likeliest_class_first(published, images):
    found = prediction.predict(published / "10", _asked(images), top=2)
    assert [[name for name, _ in item.classes] for item in found] == [
        ["dark", "bright"],
        ["bright", "dark"],
    ]


def test_the_probability_is_the_softmax_of_the_logits(published, images):
    found = prediction.predict(published / "10", _asked(images[:1]), top=1)
    # Black gives the logits 2 and -2.
    assert found[0].classes[0][1] == pytest.approx(1 / (1 + np.exp(-4.0)), abs=1e-6)


def test_the_command_prints_class_and_probability(published, images, capsys):
    words = [word for path in images for word in ("--image", str(path))]
    assert main.main(["predict", "--model", str(published), *words, "--top", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{images[0]}: dark 98.2%",
        f"{images[1]}: bright 98.2%",
    ]


def test_the_command_prints_json_on_demand(published, images, capsys):
    words = ["predict", "--model", str(published), "--image", str(images[0]), "--json"]
    assert main.main(words) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["model"] == str(published / "10")
    assert printed["predictions"][0]["classes"][0]["name"] == "dark"


def _refusal(model, image):
    with pytest.raises(PredictionError) as caught:
        prediction.predict(prediction.find_model(model), _asked([image]), top=1)
    return str(caught.value)


def test_a_missing_model_is_refused(tmp_path, images):
    assert "nowhere, which is not there" in _refusal(tmp_path / "nowhere", images[0])


def test_a_folder_without_a_model_is_refused(tmp_path, images):
    assert "which holds none" in _refusal(tmp_path, images[0])


def test_a_missing_image_is_refused(published, tmp_path):
    assert "cannot be read: No such file" in _refusal(published, tmp_path / "none.png")


def test_a_file_that_is_no_image_is_refused(published, tmp_path):
    path = tmp_path / "notes.png"
    path.write_text("notes")
    assert "Expected a PNG, JPEG, WebP, BMP or GIF file." in _refusal(published, path)


def test_an_empty_file_is_refused(published, tmp_path):
    path = tmp_path / "empty.png"
    path.touch()
    assert "empty.png, which is empty" in _refusal(published, path)


def test_a_truncated_image_is_refused(published, tmp_path, images):
    path = tmp_path / "half.png"
    path.write_bytes(images[0].read_bytes()[:40])
    assert f"it is damaged. Received: --image {path}" in _refusal(published, path)


def test_an_altered_model_is_refused(published, tmp_path, images):
    altered = tmp_path / "altered"
    shutil.copytree(published / "10", altered)
    with (altered / "saved_model.pb").open("ab") as file:
        file.write(b"x")
    assert "A file differs from the manifest." in _refusal(altered, images[0])


def test_a_model_without_the_signature_is_refused(tmp_path, images):
    module = tf.Module()
    module.call = tf.function(lambda x: x, input_signature=[tf.TensorSpec((None,), tf.float32)])
    tf.saved_model.save(module, str(tmp_path / "other"), signatures={"identity": module.call})
    (tmp_path / "other/kerasline.json").write_text(
        json.dumps({"format_version": 1, "class_names": ["a", "b"], "files": {}})
    )
    refusal = _refusal(tmp_path / "other", images[0])
    assert "needs a signature serve_bytes with the inputs image_bytes" in refusal
    assert "with signatures identity (x)." in refusal


def test_a_model_of_another_make_is_refused(tmp_path, images):
    (tmp_path / "saved_model.pb").touch()
    assert "a kerasline.json that says what it reads" in _refusal(tmp_path, images[0])


@pytest.mark.parametrize("words", [["--image", "a.png"], ["--model", "m"]])
def test_a_missing_option_is_a_usage_error(words, capsys):
    assert main.main(["predict", *words]) == 2
    assert "kerasline predict: Missing option" in capsys.readouterr().err
