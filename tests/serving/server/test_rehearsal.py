"""What a loaded version is asked before its first user."""

import asyncio
import collections

import numpy as np
import pytest

from serving.export import warmup
from serving.server import batching, loaded_model, rehearsal, versions
from tests.serving import harness, model_factory

ROWS = np.array([[2.0], [4.0], [6.0]], np.float32)


@pytest.fixture
def directory(tmp_path):
    model_factory.write_half_plus(tmp_path / "1", offset=1)
    warmup.write_warmup(tmp_path / "1", [("serving_default", {"x": ROWS})])
    return tmp_path / "1"


async def play(directory, *, times=1):
    """Plays, and returns what the graph was asked: pairs of rows and their number."""
    model = loaded_model.LoadedModel(directory, loaded_model.LoadOptions())
    version = versions.Version(1, directory, versions.State.LOADING)
    asked: collections.Counter = collections.Counter()

    def run(name, inputs):
        asked[name, inputs["x"].tobytes(), inputs["x"].shape] += 1
        return model.run(name, inputs)

    version.model = model
    version.batcher = batching.Batcher(run, batching.BatchingOptions(), name="test")
    try:
        one = rehearsal.Rehearsal(as_content=False)
        for _ in range(times):
            await one.play("m", version)
    finally:
        version.batcher.close()
        model.close()
    assert version.num_in_flight == 0
    return asked


def test_both_front_ends_ask_for_the_first_row_of_the_first_record(directory):
    expected = {("serving_default", ROWS[:1].tobytes(), (1, 1)): 2 * rehearsal._NUM_REQUESTS}
    assert asyncio.run(play(directory)) == expected


def test_later_versions_are_asked_less_often(directory):
    (number,) = asyncio.run(play(directory, times=2)).values()
    assert number == 2 * (rehearsal._NUM_REQUESTS + rehearsal._NUM_LATER_REQUESTS)


def test_large_rows_are_not_played(directory, monkeypatch):
    monkeypatch.setattr(rehearsal, "_MAX_SAMPLE_BYTES", 3)
    assert not asyncio.run(play(directory))


def test_nothing_played_is_counted(directory, tmp_path):
    (tmp_path / "monitoring").write_text("prometheus_config { enable: true }")
    with harness.serve(
        model_name="m",
        model_base_path=str(directory.parent),
        monitoring_config_file=str(tmp_path / "monitoring"),
    ) as server:
        assert 'model_name="m"' not in server.http.get("/monitoring/prometheus/metrics").text
        assert server.post("/v1/models/m:predict", {"instances": [[2.0]]}).status_code == 200
        assert 'model_name="m"' in server.http.get("/monitoring/prometheus/metrics").text
