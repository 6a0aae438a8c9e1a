"""Versions that come, go, break and are swapped under load."""

import pathlib
import shutil
import threading

import pytest
import tensorflow as tf

from serving.server import errors
from tests.serving import harness, model_factory


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> dict[int, pathlib.Path]:
    """Models that answer x / 2 + n, to be copied from."""
    base = tmp_path_factory.mktemp("sources")
    return {n: model_factory.write_half_plus(base / str(n), offset=n) for n in (1, 2, 3)}


@pytest.fixture
def base(tmp_path, sources) -> pathlib.Path:
    publish(sources[1], tmp_path / "m" / "1")
    return tmp_path / "m"


def publish(source: pathlib.Path, target: pathlib.Path) -> None:
    """Makes a version appear whole, as the publisher does."""
    partial = target.with_name(f".{target.name}.partial")
    shutil.copytree(source, partial)
    partial.rename(target)


def ask(server, path="/v1/models/m:predict"):
    response = server.post(path, {"instances": [0.0]})
    return response.json()["predictions"][0] if response.status_code == 200 else response.json()


def states(server):
    statuses = server.http.get("/v1/models/m").json()["model_version_status"]
    return {int(each["version"]): each["state"] for each in statuses}


def poll_until(server, is_true):
    def look():
        server.poll()
        return is_true()

    harness.wait_until(look)


def serve(base, **settings):
    return harness.serve(model_name="m", model_base_path=str(base), **settings)


def test_new_version_replaces_the_old_one(base, sources):
    with serve(base) as server:
        assert ask(server) == 1.0
        publish(sources[2], base / "2")
        poll_until(server, lambda: states(server).get(2) == "AVAILABLE")
        assert ask(server) == 2.0
        harness.wait_until(lambda: states(server)[1] == "END")
        assert ask(server, "/v1/models/m/versions/1:predict") == {
            "error": "Servable not found for request: Specific(m, 1)"
        }


def test_old_version_finishes_its_requests_before_it_is_unloaded(base, sources):
    with serve(base) as server:
        old = server.app._models.find("m")
        release, run = threading.Event(), old.batcher._run
        old.batcher._run = lambda *args: (release.wait(30), run(*args))[1]
        answers = []
        thread = threading.Thread(target=lambda: answers.append(ask(server)))
        thread.start()
        harness.wait_until(lambda: old.num_in_flight == 1)
        publish(sources[2], base / "2")
        poll_until(server, lambda: states(server).get(2) == "AVAILABLE")
        assert states(server)[1] == "UNLOADING"
        assert ask(server) == 2.0
        release.set()
        thread.join(30)
        assert answers == [1.0]


def test_half_copied_version_is_not_loaded_until_it_is_whole(base, sources):
    with serve(base) as server:
        (base / "2").mkdir()
        shutil.copy(sources[2] / "saved_model.pb", base / "2")
        for _ in range(3):
            server.poll()
        assert states(server).get(2) != "AVAILABLE"
        assert ask(server) == 1.0
        shutil.copytree(sources[2] / "variables", base / "2" / "variables")
        poll_until(server, lambda: states(server).get(2) == "AVAILABLE")
        assert ask(server) == 2.0


def test_version_that_differs_from_its_manifest_is_not_loaded(tmp_path):
    base = tmp_path / "m"
    model_factory.export_classifier(base / "1")
    shutil.copytree(base / "1", base / ".2")
    data = next((base / ".2").glob("variables/*.data*"))
    data.write_bytes(data.read_bytes()[:-4] + b"\0\0\0\1")
    (base / ".2").rename(base / "2")
    with serve(base) as server:
        status = server.http.get("/v1/models/m/versions/2").json()["model_version_status"][0]
        assert status["state"] == "END"
        assert "differs from the manifest" in status["status"]["error_message"]
        assert server.http.get("/health/ready").status_code == 503


@pytest.mark.parametrize("damage", ["garbage", "empty", "no_variables"])
def test_corrupt_version_leaves_the_old_one_serving(base, sources, damage):
    with serve(base) as server:
        shutil.copytree(sources[2], base / ".2")
        if damage == "no_variables":
            shutil.rmtree(base / ".2" / "variables")
        else:
            (base / ".2" / "saved_model.pb").write_bytes(
                b"\xff" * 99 if damage == "garbage" else b""
            )
        (base / ".2").rename(base / "2")
        poll_until(server, lambda: states(server).get(2) == "END")
        assert ask(server) == 1.0
        publish(sources[3], base / "3")
        poll_until(server, lambda: states(server).get(3) == "AVAILABLE")
        assert ask(server) == 3.0


def test_warmup_record_that_does_not_fit_fails_the_load(base, sources):
    shutil.copytree(sources[2], base / ".2")
    (base / ".2" / "assets.extra").mkdir()
    with tf.io.TFRecordWriter(str(base / ".2/assets.extra/tf_serving_warmup_requests")) as writer:
        writer.write(b"not a PredictionLog")
    with serve(base) as server:
        (base / ".2").rename(base / "2")
        poll_until(server, lambda: states(server).get(2) == "END")
        assert ask(server) == 1.0


def test_all_versions_deleted_leaves_the_loaded_one_serving(base):
    with serve(base) as server:
        shutil.rmtree(base / "1")
        server.poll()
        assert ask(server) == 1.0


def test_newest_version_deleted_goes_back_to_the_one_before(base, sources):
    publish(sources[2], base / "2")
    with serve(base) as server:
        assert ask(server) == 2.0
        shutil.rmtree(base / "2")
        poll_until(server, lambda: states(server).get(1) == "AVAILABLE")
        assert ask(server) == 1.0


def publish_under_load(base, sources, num_publishes):
    """Publishes again and again while three clients ask; returns what went wrong."""
    stop, failures, counts = threading.Event(), [], [0, 0, 0]

    def client(index, server):
        while not stop.is_set():
            answer = ask(server)
            counts[index] += 1
            if answer not in (1.0, 2.0):
                failures.append(answer)

    with serve(base) as server:
        threads = [threading.Thread(target=client, args=(n, server)) for n in range(3)]
        for thread in threads:
            thread.start()
        for number in range(2, num_publishes + 2):
            publish(sources[1 + number % 2], base / str(number))
            poll_until(server, lambda n=number: server.app._models.find("m").number == n)
            if number > 3:
                shutil.rmtree(base / str(number - 2))
        stop.set()
        for thread in threads:
            thread.join(60)
    assert min(counts) > 0
    return failures


def test_publishing_under_load_fails_no_request(base, sources):
    assert publish_under_load(base, sources, 25) == []


@pytest.mark.slow
def test_a_thousand_publishes_under_load_fail_no_request(base, sources):
    assert publish_under_load(base, sources, 1_000) == []


def write_config(path, base, extra=""):
    path.write_text(f'model_config_list {{ config {{ name: "m" base_path: "{base}" {extra} }} }}')


def test_config_file_is_read_again_and_an_error_in_it_changes_nothing(
    base, sources, tmp_path, caplog
):
    config = tmp_path / "models.config"
    publish(sources[2], base / "2")
    write_config(config, base)
    with harness.serve(
        model_config_file=str(config), model_config_file_poll_wait_seconds=0.05
    ) as server:
        assert ask(server) == 2.0
        config.write_text("model_config_list { nonsense")
        harness.wait_until(lambda: "was not taken over" in caplog.text)
        assert ask(server) == 2.0
        write_config(config, base, "model_version_policy { specific { versions: 1 } }")
        harness.wait_until(lambda: ask(server) == 1.0)


def reload_until(server, is_true):
    def reload():
        server.on_loop(server.app._reload())
        return is_true()

    harness.wait_until(reload)


def test_new_base_path_takes_over_without_a_gap(base, sources, tmp_path):
    config = tmp_path / "models.config"
    write_config(config, base)
    publish(sources[2], tmp_path / "other" / "1")
    with harness.serve(model_config_file=str(config)) as server:
        old = server.app._models.find("m")
        answers = []
        load = server.app._models._loader._load

        async def watched_load(*arguments):
            answers.append(server.app._models.find("m") is old)
            await load(*arguments)
            answers.append(server.app._models.find("m") is old)

        server.app._models._loader._load = watched_load
        write_config(config, tmp_path / "other")
        reload_until(server, lambda: ask(server) == 2.0)
        assert answers == [True, True]
        harness.wait_until(lambda: old.state.name == "END")


def test_new_base_path_without_a_version_leaves_the_old_one_serving(base, tmp_path, caplog):
    config = tmp_path / "models.config"
    write_config(config, base)
    with harness.serve(model_config_file=str(config)) as server:
        (tmp_path / "empty").mkdir()
        write_config(config, tmp_path / "empty")
        server.on_loop(server.app._reload())
        assert "Nothing could be loaded from the new base path of m" in caplog.text
        assert ask(server) == 1.0


def test_model_without_a_version_is_named_in_the_log(tmp_path, caplog):
    with harness.serve(model_name="m", model_base_path=str(tmp_path)) as server:
        assert f"Model m has no version in {tmp_path}." in caplog.text
        assert server.http.get("/health/ready").json() == {
            "error": "Not ready: models without a version: ['m']."
        }


def test_label_moves_with_the_config(base, sources, tmp_path):
    config = tmp_path / "models.config"
    publish(sources[2], base / "2")
    everything = "model_version_policy { all {} }"
    write_config(config, base, everything + ' version_labels { key: "stable" value: 1 }')
    with harness.serve(
        model_config_file=str(config), model_config_file_poll_wait_seconds=0.05
    ) as server:
        labelled = "/v1/models/m/labels/stable:predict"
        assert ask(server, labelled) == 1.0
        write_config(config, base, everything + ' version_labels { key: "stable" value: 2 }')
        harness.wait_until(lambda: ask(server, labelled) == 2.0)


def test_label_for_a_version_that_is_not_loaded_stops_the_start(base, tmp_path):
    config = tmp_path / "models.config"
    write_config(config, base, 'version_labels { key: "stable" value: 9 }')
    with (
        pytest.raises(errors.ServingError, match="assign label to version 9 of model m"),
        harness.serve(model_config_file=str(config)),
    ):
        pass


def test_new_label_for_a_version_to_come_is_accepted_when_allowed(base, sources, tmp_path):
    config = tmp_path / "models.config"
    write_config(config, base, 'version_labels { key: "next" value: 2 }')
    settings = {"allow_version_labels_for_unavailable_models": True}
    with harness.serve(model_config_file=str(config), **settings) as server:
        assert "error" in ask(server, "/v1/models/m/labels/next:predict")
        publish(sources[2], base / "2")
        poll_until(server, lambda: states(server).get(2) == "AVAILABLE")
        assert ask(server, "/v1/models/m/labels/next:predict") == 2.0
