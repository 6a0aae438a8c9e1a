"""Results are read as far as the run came."""

from ml_metadata.proto import metadata_store_pb2

from pipeline.runners import results


def test_a_run_that_stopped_before_its_first_step_has_no_results(tmp_path):
    connection = metadata_store_pb2.ConnectionConfig()
    connection.sqlite.filename_uri = str(tmp_path / "absent.sqlite")
    assert results.read(connection, {}) == results.Results()
    assert list(tmp_path.iterdir()) == []
