import os
import resource

import pytest

from components.ingest import atomic
from components.ingest.errors import DataError
from tests.components import data_factories
from tests.components.ingest.ingest_factories import run


def test_leftover_of_a_killed_process_is_replaced(source, tmp_path):
    final = run(source, tmp_path / "cache").path
    leftover = final.rename(final.with_name(f".{final.name}.abc.partial"))
    assert run(source, tmp_path / "cache").path == final
    assert not leftover.exists()


def test_full_disk_leaves_nothing(tmp_path):
    source = data_factories.SyntheticSource(num_rows=2_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"Expected to write the dataset under .* too large"):
            run(source, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.suffix for path in (tmp_path / "datasets").iterdir()] == [".lock"]


def test_folder_that_may_not_be_written_is_named(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o500)
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        with (
            pytest.raises(DataError, match=r"may not be written. .* set XDG_CACHE_HOME"),
            atomic.new_folder(tmp_path / "cache" / "datasets" / "new"),
        ):
            pytest.fail("the folder was made")
    finally:
        os.seteuid(was)
