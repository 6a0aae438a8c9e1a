import io
import json
import pathlib
import shutil

import keras
import numpy as np
import PIL.Image
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from serving.export import export, manifest, saved_model_file, warmup

CLASS_NAMES = ("T-shirt/top", "Größe", "a b")


def make_model(policy: str = "float32") -> keras.Model:
    keras.utils.set_random_seed(1)
    image = keras.Input((6, 4, 1), name="image")
    scaled = keras.layers.Rescaling(1 / 255)(image)
    features = keras.layers.Conv2D(3, 3, activation="relu", dtype=policy)(scaled)
    logits = keras.layers.Dense(3, dtype=policy)(keras.layers.Flatten()(features))
    return keras.Model(
        image, {"logits": keras.layers.Activation("linear", dtype="float32")(logits)}
    )


def make_images(count: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (count, 6, 4, 1), dtype=np.uint8)


def to_png(image_HWC: np.ndarray) -> bytes:
    stream = io.BytesIO()
    PIL.Image.fromarray(image_HWC[..., 0]).save(stream, "PNG")
    return stream.getvalue()


def to_example(image_HWC: np.ndarray) -> bytes:
    image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[to_png(image_HWC)]))
    label = tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))
    features = tf.train.Features(feature={"image": image, "label": label})
    return tf.train.Example(features=features).SerializeToString()


def export_to(directory: pathlib.Path, model: keras.Model | None = None, **changes) -> pathlib.Path:
    arguments = {
        "class_names": CLASS_NAMES,
        "warmup_examples": [to_example(image) for image in make_images(3)],
        "recipe": {"name": "toy"},
        **changes,
    }
    return export.export_model(model or make_model(), directory, **arguments)


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory) -> pathlib.Path:
    return export_to(tmp_path_factory.mktemp("export") / "1")


@pytest.fixture(scope="module")
def signatures(model_dir):
    loaded = tf.saved_model.load(str(model_dir))
    yield loaded.signatures


def softmax(logits: np.ndarray) -> np.ndarray:
    exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def test_all_signatures_answer_as_keras_does(signatures):
    images = make_images(7)
    logits = make_model().predict(images, verbose=0)["logits"]
    inputs = {
        "serving_default": {"image": tf.constant(images, tf.float32)},
        "serve_bytes": {"image_bytes": tf.constant([to_png(image) for image in images])},
        "serve_examples": {"examples": tf.constant([to_example(image) for image in images])},
    }
    for name, values in inputs.items():
        answer = signatures[name](**values)
        np.testing.assert_allclose(answer["probabilities"], softmax(logits), atol=1e-6)
        np.testing.assert_array_equal(answer["class_ids"], logits.argmax(-1))
        expected = [CLASS_NAMES[index].encode() for index in logits.argmax(-1)]
        assert answer["classes"].numpy().tolist() == expected


def test_outputs_have_the_stated_names_dtypes_and_dynamic_batch(model_dir):
    signatures = saved_model_file.read_signatures(model_dir)
    for name in ("serving_default", "serve_bytes", "serve_examples"):
        signature = signatures[name]
        specs = {key: saved_model_file.tensor_spec(info) for key, info in signature.outputs.items()}
        assert {key: spec.dtype.name for key, spec in specs.items()} == {
            "probabilities": "float32",
            "class_ids": "int64",
            "classes": "string",
        }
        assert specs["probabilities"].shape.as_list() == [None, 3]


def test_classify_gives_every_class_with_its_score(model_dir, signatures):
    images = make_images(2)
    examples = tf.constant([to_example(image) for image in images])
    answer = signatures["classify"](inputs=examples)
    names = [name.encode() for name in CLASS_NAMES]
    assert answer["classes"].numpy().tolist() == [names, names]
    expected = signatures["serve_examples"](examples=examples)["probabilities"]
    np.testing.assert_array_equal(answer["scores"], expected)
    definition = saved_model_file.read_signatures(model_dir)["classify"]
    assert definition.method_name == "tensorflow/serving/classify"


def test_method_name_of_an_unknown_signature_is_an_error(model_dir):
    with pytest.raises(KeyError, match="nope"):
        saved_model_file.set_method_name(model_dir, "nope", "x")


def test_class_names_are_an_asset(model_dir):
    lines = (model_dir / "assets" / "class_names.txt").read_text(encoding="utf-8").splitlines()
    assert tuple(lines) == CLASS_NAMES


def test_warmup_records_hold_the_real_examples(model_dir):
    records = [
        prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        for record in tf.data.TFRecordDataset(str(model_dir / warmup.WARMUP_PATH))
    ]
    assert len(records) == 6
    examples = [r for r in records if r.model_spec.signature_name == "serve_examples"][-1]
    assert list(examples.inputs["examples"].string_val) == [to_example(i) for i in make_images(3)]


def test_manifest_names_every_file_and_the_recipe(model_dir):
    document = json.loads((model_dir / "kerasline.json").read_text(encoding="utf-8"))
    files = {p.relative_to(model_dir).as_posix() for p in model_dir.rglob("*") if p.is_file()}
    assert set(document["files"]) == files - {"kerasline.json"}
    assert document["recipe"] == {"name": "toy"}
    assert document["class_names"] == list(CLASS_NAMES)


@pytest.fixture
def model_copy(model_dir, tmp_path):
    """A copy of the export that may be changed."""
    return pathlib.Path(shutil.copytree(model_dir, tmp_path / "1"))


def test_manifest_check_passes_on_an_export_and_finds_a_cut_file(model_copy):
    manifest.check_files(model_copy)
    data = next(model_copy.glob("variables/*.data*"))
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(
        manifest.ManifestError, match="differs from the manifest. Received: path=.*data"
    ):
        manifest.check_files(model_copy)


def test_manifest_check_finds_a_missing_file(model_copy):
    (model_copy / "assets" / "class_names.txt").unlink()
    with pytest.raises(
        manifest.ManifestError, match="manifest names is missing. Received: path=.*class_names"
    ):
        manifest.check_files(model_copy)


@pytest.mark.parametrize("text", ["{", "[]", '{"format_version": 2}'])
def test_unreadable_manifest_is_an_error(tmp_path, text):
    (tmp_path / "kerasline.json").write_text(text)
    with pytest.raises(manifest.ManifestError, match="manifest .*Received: path="):
        manifest.read_manifest(tmp_path)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_model_is_exported_in_float32(tmp_path, policy):
    trained = make_model(policy)
    plain = make_model()
    plain.set_weights(trained.get_weights())
    model_dir = export_to(tmp_path / "1", trained)
    images = make_images(5).astype(np.float32)
    answer = tf.saved_model.load(str(model_dir)).signatures["serving_default"](image=images)
    expected = softmax(plain.predict(images, verbose=0)["logits"])
    # Half precision would differ by about 1e-3.
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-6)


def test_folder_that_holds_something_is_refused_and_kept(tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(FileExistsError, match="new or an empty folder. Received: target="):
        export_to(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "kept"


def test_failed_export_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(manifest, "write_manifest", fail)
    with pytest.raises(OSError, match="disk full"):
        export_to(tmp_path / "1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"class_names": ("a", "b")},
            r"one class name for each of the 3 logits. Received: len\(class_names\)=2",
        ),
        ({"class_names": ("a", "b", "c\nd")}, r"without line breaks. Received: \['c\\nd'\]"),
        ({"warmup_examples": []}, "At least one warm-up example is needed"),
        (
            {"warmup_examples": [b"junk"]},
            "must be a serialized tf.Example whose bytes feature 'image'",
        ),
        (
            {"model": keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])},
            "must map one image input",
        ),
    ],
    ids=["too_few_names", "line_break", "no_warmup", "bad_warmup", "not_an_image_model"],
)
def test_arguments_that_do_not_fit_are_refused_before_writing(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        export_to(tmp_path / "1", **changes)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "request_, message",
    [
        (("nope", {}), "must name a signature of the model. Received: signature_name='nope'"),
        (
            ("serve_bytes", {"image": np.array([b""], object)}),
            r"inputs \['image_bytes'\]. Received: inputs=\['image'\]",
        ),
        (
            ("serving_default", {"image": np.zeros((1, 6, 4), np.float32)}),
            r"Received: shape=\(1, 6, 4\)",
        ),
        (
            ("serving_default", {"image": np.zeros((1, 6, 4, 1), np.int32)}),
            "Received: .*dtype=int32",
        ),
    ],
    ids=["signature", "input_name", "shape", "dtype"],
)
def test_warmup_request_that_does_not_fit_its_signature_is_refused(model_dir, request_, message):
    with pytest.raises(ValueError, match=message):
        warmup.write_warmup(model_dir, [request_])


def test_too_many_warmup_requests_are_refused(model_dir):
    with pytest.raises(ValueError, match="at most 1000 warm-up requests. Received: .*1001"):
        warmup.write_warmup(model_dir, [("serve_bytes", {})] * 1_001)


def test_folder_without_a_saved_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must hold a readable saved_model.pb. Received: path="):
        saved_model_file.read_signatures(tmp_path)
