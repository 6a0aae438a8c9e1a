"""The page at `/`, in a real browser where there is one."""

import json

import pytest

from tests.serving import harness, model_factory
from tests.serving.server import chromium

needs_chromium = pytest.mark.skipif(
    chromium.find() is None, reason="No Chromium here; install it with: apt-get install chromium"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("page")
    model_factory.export_classifier(base / "pets" / "3")
    model_factory.write_zoo(base / "zoo" / "1")
    config = base / "models.config"
    config.write_text(
        f'model_config_list {{ config {{ name: "pets" base_path: "{base}/pets"'
        f' version_labels {{ key: "<b>stable</b>" value: 3 }} }}'
        f' config {{ name: "zoo" base_path: "{base}/zoo" }} }}'
    )
    with harness.serve(model_config_file=str(config)) as running:
        yield running


@pytest.fixture(scope="module")
def page(server, tmp_path_factory):
    with chromium.browse(str(tmp_path_factory.mktemp("profile"))) as opened:
        opened.call("Page.navigate", url=f"http://127.0.0.1:{server.app.rest_port}/")
        opened.wait_for("document.querySelectorAll('section').length === 2")
        yield opened


def section(name):
    sections = "[...document.querySelectorAll('section')]"
    return f"{sections}.find(s => s.querySelector('h2').textContent === {json.dumps(name)})"


def choose_signature(page, model, signature):
    page.evaluate(
        f"{{ const select = {section(model)}.querySelector('select[name=signature]');"
        f" select.value = {json.dumps(signature)}; select.dispatchEvent(new Event('change')); }}"
    )


def send(page, model):
    page.evaluate(f"{section(model)}.querySelector('button').click()")
    answer = f"{section(model)}.querySelector('.answer')"
    page.wait_for(f"!{answer}.hidden && {answer}.textContent !== 'Waiting ...'")
    return page.evaluate(f"{answer}.textContent")


def test_state_lists_models_versions_and_signatures(server):
    pets, zoo = server.http.get("/page/state").json()["models"]
    assert [version["number"] for version in pets["versions"]] == [3]
    assert pets["versions"][0]["labels"] == ["<b>stable</b>"]
    assert [s["name"] for s in pets["signatures"]] == [
        "serve_bytes", "serving_default", "serve_examples",
    ]  # fmt: skip
    assert {"name": "text", "dtype": "string", "shape": "[?]"} in [
        tensor for s in zoo["signatures"] for tensor in s["inputs"]
    ]


def test_page_asks_no_other_host(server):
    page, script = (server.http.get(path) for path in ("/", "/page/script.js"))
    assert "://" not in page.text + script.text
    assert script.headers["content-type"].startswith("text/javascript")


@needs_chromium
def test_versions_and_labels_are_shown_as_text(page):
    row = page.wait_for(f"{section('pets')}.querySelector('tbody tr')?.textContent")
    assert row == "3AVAILABLE<b>stable</b>"


@needs_chromium
def test_uploaded_image_is_classified(page, server, tmp_path):
    image = tmp_path / "pet.png"
    (pixels,) = model_factory.make_images(1)
    image.write_bytes(model_factory.to_png(pixels))
    choose_signature(page, "pets", "serve_bytes")
    page.choose_file("input[type=file]", str(image))
    page.wait_for(f"!{section('pets')}.querySelector('img').hidden")
    answer = json.loads(send(page, "pets"))["outputs"]
    body = {"inputs": pixels[None].astype(float).tolist()}
    assert answer == server.post("/v1/models/pets:predict", body).json()["outputs"]


@needs_chromium
def test_classes_are_named_with_the_likeliest_first(page, server):
    choose_signature(page, "pets", "serving_default")
    page.evaluate(f"{section('pets')}.querySelector('.second').click()")
    outputs = json.loads(send(page, "pets"))["outputs"]
    shown = page.evaluate(f"{section('pets')}.querySelector('.classes').innerText").split("\n")
    named = zip(outputs["probabilities"][0], ("cat", "dog", "Größe"), strict=True)
    expected = [(name, f"{100 * score:.1f} %") for score, name in sorted(named, reverse=True)]
    texts = [text for text in shown if text]
    assert list(zip(texts[::2], texts[1::2], strict=True)) == expected
    assert texts[0] == outputs["classes"][0]


@needs_chromium
def test_example_that_is_filled_in_is_of_the_warmup_records(page, server):
    choose_signature(page, "pets", "serving_default")
    page.evaluate(f"{section('pets')}.querySelector('.second').click()")
    answer = json.loads(send(page, "pets"))["outputs"]
    body = {"inputs": model_factory.make_images(1).astype(float).tolist()}
    assert answer == server.post("/v1/models/pets:predict", body).json()["outputs"]


@needs_chromium
def test_version_is_asked_by_its_label(page):
    choice = f"{section('pets')}.querySelector('select[name=version]')"
    options = f"[...{choice}.options].map(option => option.textContent).join('|')"
    assert page.evaluate(options) == "latest|version 3|<b>stable</b>"
    page.evaluate(f"{choice}.selectedIndex = 2")
    path = page.evaluate(f"requestPath({section('pets')})")
    assert path == "/v1/models/pets/labels/%3Cb%3Estable%3C%2Fb%3E:predict"
    choose_signature(page, "pets", "serving_default")
    page.evaluate(f"{section('pets')}.querySelector('.second').click()")
    assert "probabilities" in json.loads(send(page, "pets"))["outputs"]
    page.evaluate(f"{choice}.selectedIndex = 0")


@needs_chromium
def test_typed_text_is_sent(page):
    choose_signature(page, "zoo", "echo")
    page.evaluate(f"{section('zoo')}.querySelector('[name=text]').value = 'Größe <i>'")
    assert json.loads(send(page, "zoo"))["outputs"]["text"] == ["Größe <i>"]


@needs_chromium
def test_typed_numbers_are_sent_and_a_refusal_is_shown(page):
    choose_signature(page, "zoo", "refuse_negative")
    page.evaluate(f"{section('zoo')}.querySelector('textarea').value = '[-1]'")
    assert "negative value" in send(page, "zoo")
    assert page.evaluate(f"{section('zoo')}.querySelector('.answer').className") == "answer error"


@needs_chromium
def test_numbers_of_one_value_have_a_short_field_and_may_be_missing(page):
    choose_signature(page, "zoo", "two")
    fields = f"{section('zoo')}.querySelector('form').elements"
    page.evaluate(f"{fields}.a.value = '[[1, 2.5]]'; {fields}.b.value = '3'")
    assert page.evaluate(f"{fields}.b.tagName") == "INPUT"
    assert json.loads(send(page, "zoo"))["outputs"] == {"sum": [3.5], "twice": [6]}
    page.evaluate(f"{fields}.b.value = ''")
    assert "is not of expected type: int32" in send(page, "zoo")


@needs_chromium
def test_throughput_is_live(page, server):
    for _ in range(5):
        server.post("/v1/models/zoo:predict", {"signature_name": "negate", "instances": [True]})
    page.wait_for(f"parseInt({section('zoo')}.querySelector('.total').textContent) >= 5")
    page.wait_for(f"parseFloat({section('zoo')}.querySelector('.latency').textContent) > 0")
    points = f"{section('zoo')}.querySelector('polyline').getAttribute('points')"
    page.wait_for(f"{points}.split(' ').some(point => parseFloat(point.split(',')[1]) < 19)")
