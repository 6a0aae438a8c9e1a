"""Beam's workers write the same bytes as the processes of this machine."""

import pytest

from components.ingest import beam_processes, spreading, workers
from components.ingest.errors import DataError
from tests.components import data_factories
from tests.components.ingest.ingest_factories import run

MULTI_PROCESSING = (
    "--runner=DirectRunner",
    "--direct_running_mode=multi_processing",
    "--direct_num_workers=2",
)


def test_a_runner_is_chosen_only_if_one_is_named():
    assert isinstance(spreading.choose(("--direct_num_workers=2",)), workers.LocalProcesses)
    assert isinstance(spreading.choose(MULTI_PROCESSING), beam_processes.BeamProcesses)


def test_beam_writes_the_same_bytes_in_other_processes(tmp_path):
    source = data_factories.SyntheticSource(num_rows=2_000)
    by_beam = run(source, tmp_path / "beam", processes=spreading.choose(MULTI_PROCESSING))
    here = run(source, tmp_path / "here")
    assert (by_beam.manifest, by_beam.digest) == (here.manifest, here.digest)
    left = {path.name for path in by_beam.path.parents[1].rglob("*") if "task" in path.name}
    assert left == set()


def test_a_fault_in_the_data_is_told_in_its_own_sentence(source, tmp_path):
    with pytest.raises(DataError, match=r"its label 2 is outside .*\(0 to 1\)"):
        run(
            source,
            tmp_path,
            label={"class_names": ["ant", "bee"]},
            processes=spreading.choose(("--runner=DirectRunner",)),
        )


def test_rejects_are_counted_as_without_beam(source, tmp_path):
    changes = {"label": {"class_names": ["ant", "bee"]}, "rejects": {"max_share": 0.5}}
    found = [
        run(source, tmp_path / name, processes=processes, **changes).manifest
        for name, processes in (
            ("beam", spreading.choose(("--runner=DirectRunner",))),
            ("here", None),
        )
    ]
    assert found[0].num_rejects == found[1].num_rejects > 0


def test_a_task_that_runs_twice_counts_once(tmp_path):
    source = data_factories.SyntheticSource(num_rows=500)

    class Twice(beam_processes.BeamProcesses):
        def write(self, jobs):
            for job in jobs:
                for task in beam_processes._tasks(job):
                    beam_processes.run_task(task)
            return super().write(jobs)

    twice = run(source, tmp_path / "twice", processes=Twice(["--runner=DirectRunner"]))
    assert twice.digest == run(source, tmp_path / "once").digest


def test_workers_with_another_disk_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(beam_processes, "run_task", print)
    with pytest.raises(DataError, match=r"another disk\. Set XDG_CACHE_HOME to a folder that they"):
        run(
            data_factories.SyntheticSource(num_rows=100),
            tmp_path,
            processes=spreading.choose(("--runner=DirectRunner",)),
        )
