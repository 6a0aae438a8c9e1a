"""Both clients over both transports, against the real server."""

import asyncio
import inspect
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from serving.client import client, errors, inputs, tensors, transports
from tests.serving import harness, model_factory


class Waiting:
    """An AsyncClient with the interface of a Client, so that one test serves both."""

    def __init__(self, *arguments, **options):
        self._loop = asyncio.new_event_loop()
        self._client = client.AsyncClient(*arguments, **options)

    def __getattr__(self, name):
        method = getattr(self._client, name)
        return lambda *args, **options: self._loop.run_until_complete(method(*args, **options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self._loop.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("models")
    model_factory.export_classifier(base / "images" / "1")
    model_factory.export_classifier(base / "images" / "2", model_factory.make_classifier(seed=2))
    model_factory.write_zoo(base / "zoo" / "1")
    config = base / "models.config"
    config.write_text(
        f'model_config_list {{ config {{ name: "images" base_path: "{base}/images"'
        ' model_version_policy { all {} } version_labels { key: "stable" value: 1 } }'
        f' config {{ name: "zoo" base_path: "{base}/zoo" }} }}'
    )
    with harness.serve(model_config_file=str(config)) as running:
        yield running


@pytest.fixture(params=["grpc", "http", "async grpc", "async http"])
def connect(request, server):
    """Returns a function that makes a client of each kind for a model."""
    kind, _, scheme = request.param.rpartition(" ")
    port = server.app.grpc_port if scheme == "grpc" else server.app.rest_port
    made = []

    def make(model, **options):
        one = (Waiting if kind else client.Client)(f"{scheme}://127.0.0.1:{port}", model, **options)
        made.append(one)
        return one

    yield make
    for one in made:
        one.__exit__()


def expected_probabilities(images, seed):
    model = model_factory.make_classifier(seed)
    return tf.nn.softmax(model.predict(images, verbose=0)["logits"]).numpy()


def test_signatures_are_typed(connect):
    signature = connect("images").signatures()["serving_default"]
    assert signature.inputs["image"] == tensors.TensorSpec(np.dtype("f4"), (None, 6, 4, 1))
    assert signature.outputs["class_ids"].dtype == np.int64


@pytest.mark.parametrize("choice, seed", [({}, 2), ({"version": 1}, 1), ({"label": "stable"}, 1)])
def test_pixels_get_the_chosen_versions_answer(connect, choice, seed):
    images = model_factory.make_images(3)
    answer = connect("images", **choice).predict({"image": images})
    expected = expected_probabilities(images, seed)
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-6)
    assert answer["class_ids"].dtype == np.int64
    assert answer["classes"].tolist() == [
        ("cat", "dog", "Größe")[index].encode() for index in expected.argmax(-1)
    ]


def test_every_form_of_an_image_gets_the_same_answer(connect):
    (image,) = model_factory.make_images(1)
    one = connect("images")
    picture = PIL.Image.fromarray(image[..., 0])
    answers = [
        one.predict(image[None].tolist()),
        one.predict(picture),
        one.predict([picture]),
        one.predict(picture, signature_name="serve_bytes"),
        one.predict(model_factory.to_png(image), signature_name="serve_bytes"),
        one.predict([model_factory.to_png(image)], signature_name="serve_bytes"),
        one.predict(
            tf.train.Example.FromString(model_factory.to_example(image)),
            signature_name="serve_examples",
        ),
    ]
    for answer in answers:
        np.testing.assert_array_equal(answer["probabilities"], answers[0]["probabilities"])


def test_large_batch_is_sent_in_parts_and_joined(connect):
    images = model_factory.make_images(7)
    answer = connect("images", version=1, max_rows=3).predict(images)
    np.testing.assert_allclose(
        answer["probabilities"], expected_probabilities(images, 1), atol=1e-6
    )


def test_bytes_and_texts_come_back_as_sent(connect):
    values = np.array([b"\xff\0", "ß".encode()], object)
    answer = connect("zoo").predict(values, signature_name="echo")
    assert answer["text_bytes"].tolist() == values.tolist()
    assert answer["length"].tolist() == [2, 2]


def test_nan_and_infinity_survive(connect):
    answer = connect("zoo").predict([np.nan, np.inf], signature_name="total")
    assert np.isnan(answer["total"])
    assert connect("zoo").predict([-np.inf], signature_name="total")["total"] == -np.inf


def test_several_inputs_and_outputs(connect):
    answer = connect("zoo").predict({"a": [[1, 2.5]], "b": [3]}, signature_name="two")
    assert {name: value.tolist() for name, value in answer.items()} == {"sum": [3.5], "twice": [6]}


def test_booleans(connect):
    assert connect("zoo").predict([True, False], signature_name="negate")["y"].tolist() == [
        False, True,
    ]  # fmt: skip


def test_status_lists_the_newest_first(connect):
    statuses = connect("images").status()
    assert [(each.version, each.state) for each in statuses] == [(2, "AVAILABLE"), (1, "AVAILABLE")]


def test_error_of_the_server_has_its_code_and_words(connect):
    with pytest.raises(errors.ServerError, match="negative value") as caught:
        connect("zoo").predict([-1.0], signature_name="refuse_negative")
    assert caught.value.code == "INVALID_ARGUMENT"


def test_unknown_model_is_not_found_and_not_retried(connect):
    with pytest.raises(errors.ServerError, match="Latest\\(nope\\)") as caught:
        connect("nope", timeout_secs=60).signatures()
    assert caught.value.code == "NOT_FOUND"


@pytest.mark.parametrize(
    "values, options, message",
    [
        ({"x": 1}, {}, r"inputs must be \['image'\]. Received: \['x'\]"),
        (
            np.zeros((1, 6, 4)),
            {},
            r"must have shape \(None, 6, 4, 1\). Received: shape=\(1, 6, 4\)",
        ),
        (np.zeros((1, 6, 4, 1), complex), {}, "must have dtype float32.*dtype=complex128"),
        (["a"], {}, "must have dtype float32"),
        (3.5, {"signature_name": "serve_bytes"}, "takes bytes, texts, images or messages"),
        (b"", {"signature_name": "nope"}, "no such signature. Received: signature_name='nope'"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_before_sending(connect, values, options, message):
    with pytest.raises(ValueError, match=message):
        connect("images").predict(values, **options)


def test_integers_that_overflow_are_refused():
    spec = tensors.Signature({"x": tensors.TensorSpec(np.dtype("u1"), None)}, {})
    with pytest.raises(ValueError, match="must have dtype uint8, or values that it holds exactly"):
        inputs.convert([1, 300], spec)


def test_several_inputs_must_be_named():
    spec = tensors.TensorSpec(np.dtype("f4"), None)
    with pytest.raises(ValueError, match="several inputs, so that they must be a dict"):
        inputs.convert([1], tensors.Signature({"a": spec, "b": spec}, {}))


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_server_that_is_not_there_is_unavailable_after_retries(scheme):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"{scheme}://127.0.0.1:{unused.getsockname()[1]}"
        with (
            client.Client(address, "m", max_retries=1) as one,
            pytest.raises(errors.ServerError) as caught,
        ):
            one.status()
    assert caught.value.code == "UNAVAILABLE"


def test_client_waits_for_a_server_that_starts_late(tmp_path):
    model_factory.write_half_plus(tmp_path / "m" / "1", offset=1)
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    answers = []

    def ask():
        with client.Client(f"http://127.0.0.1:{port}", "m", max_retries=100) as one:
            answers.append(one.predict(np.float32([[2]]))["y"].item())

    thread = threading.Thread(target=ask)
    thread.start()
    settings = {"model_name": "m", "model_base_path": str(tmp_path / "m")}
    with harness.serve(**settings, rest_api_port=port):
        thread.join(60)
    assert answers == [2.0]


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_budget_holds_when_the_server_is_silent(scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        with (
            client.Client(address, "m", timeout_secs=0.3) as one,
            pytest.raises(errors.ServerError) as caught,
        ):
            one.status()
        assert time.monotonic() - started < 20
    assert caught.value.code in ("DEADLINE_EXCEEDED", "UNAVAILABLE")


@pytest.mark.parametrize("address", ["localhost:8500", "ftp://h", "grpc://", ""])
def test_bad_address_is_refused(address):
    with pytest.raises(ValueError, match="must be grpc://host:port, .* Received: address="):
        transports.split_address(address)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"version": 1, "label": "a"}, "name two versions"),
        ({"timeout_secs": 0}, "must be positive"),
        ({"max_rows": 0}, "must be positive"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        client.Client("http://h", "m", **options)


def test_both_clients_have_one_interface():
    def methods(kind):
        public = {n: m for n, m in vars(kind).items() if not n.startswith("_")}
        return {n: list(inspect.signature(m).parameters) for n, m in public.items()}

    assert methods(client.Client) == methods(client.AsyncClient)


def test_importing_a_client_imports_neither_tensorflow_nor_an_unused_transport():
    code = (
        "import sys; from serving.client import client; client.Client('http://h', 'm');"
        "print([m for m in ('tensorflow', 'keras', 'grpc') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
