import pathlib

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from serving.server import model_configs, request_log
from tests.serving import harness, model_factory


def read_logs(folder: pathlib.Path):
    """Returns the records of the finished files, in the order of the files."""
    assert not list(folder.glob("*.partial"))
    files = sorted(folder.glob("*.tfrecord"), key=lambda path: int(path.stem.rsplit("-", 1)[1]))
    return [
        [prediction_log_pb2.PredictionLog.FromString(r.numpy()) for r in tf.data.TFRecordDataset(f)]
        for f in map(str, files)
    ]


def make_request(number):
    request = predict_pb2.PredictRequest()
    request.inputs["x"].int_val.append(number)
    return request


def write(folder, count, **limits):
    config = model_configs.LoggingConfig(str(folder / "sub" / "m"), 1.0)
    log = request_log.RequestLog(config, **limits)
    for number in range(count):
        log.add(make_request(number), predict_pb2.PredictResponse())
    log.close()
    return log


def test_files_are_finished_at_their_number_of_records(tmp_path):
    write(tmp_path, 7, max_file_records=3)
    files = read_logs(tmp_path / "sub")
    assert [len(records) for records in files] == [3, 3, 1]
    numbers = [r.predict_log.request.inputs["x"].int_val[0] for file in files for r in file]
    assert numbers == list(range(7))


def test_file_is_finished_after_its_time(tmp_path):
    config = model_configs.LoggingConfig(str(tmp_path / "m"), 1.0)
    log = request_log.RequestLog(config, max_file_secs=0.05)
    log.add(make_request(1), predict_pb2.PredictResponse())
    harness.wait_until(lambda: list(tmp_path.glob("*.tfrecord")))
    log.close()


def test_without_requests_there_is_no_file(tmp_path):
    write(tmp_path, 0)
    assert list(tmp_path.iterdir()) == []


def test_unwritable_place_loses_records_and_not_the_writer(tmp_path):
    (tmp_path / "sub").write_text("a file where a folder should be")
    log = write(tmp_path, 2)
    assert log.num_dropped == 2


@pytest.mark.parametrize("rate, low, high", [(0.0, 0, 0), (1.0, 2_000, 2_000), (0.5, 800, 1_200)])
def test_share_of_the_sample(tmp_path, rate, low, high):
    log = request_log.RequestLog(model_configs.LoggingConfig(str(tmp_path / "m"), rate))
    assert low <= sum(log.wants_next() for _ in range(2_000)) <= high
    log.close()


def test_rest_and_grpc_requests_are_logged_with_their_answers(tmp_path):
    model_factory.write_half_plus(tmp_path / "m" / "5", offset=1)
    config = tmp_path / "models.config"
    config.write_text(
        f'model_config_list {{ config {{ name: "m" base_path: "{tmp_path}/m" logging_config {{'
        f' log_collector_config {{ filename_prefix: "{tmp_path}/logs/m" }}'
        " sampling_config { sampling_rate: 1.0 } } } }"
    )
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "m"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(np.float32([[2]])))
    with harness.serve(model_config_file=str(config)) as server:
        server.post("/v1/models/m:predict", {"instances": [[2.0]]})
        call = server.channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        call(request.SerializeToString(), timeout=harness.TIMEOUT_SECS)
    ((by_rest, by_grpc),) = read_logs(tmp_path / "logs")
    for log in (by_rest, by_grpc):
        assert log.log_metadata.model_spec.version.value == 5
        assert tf.make_ndarray(log.predict_log.request.inputs["x"]) == 2
        assert tf.make_ndarray(log.predict_log.response.outputs["y"]) == 2
        assert log.log_metadata.sampling_config.sampling_rate == 1.0
