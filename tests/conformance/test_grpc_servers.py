"""gRPC with servers that are configured, or configured anew, in a way of their own."""

import threading

import grpc
import numpy as np
from tensorflow_serving.apis import (
    model_management_pb2,
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from tests.conformance import grpc_calls
from tests.serving import harness


def reload_request(**base_paths):
    request = model_management_pb2.ReloadConfigRequest()
    for name, base_path in base_paths.items():
        request.config.model_config_list.config.add(name=name, base_path=str(base_path))
    return request


def test_reload_replaces_all_models(half_plus_two, half_plus_three):
    with harness.serve(model_name="first", model_base_path=str(half_plus_three)) as server:
        models = model_service_pb2_grpc.ModelServiceStub(server.channel)
        stub = prediction_service_pb2_grpc.PredictionServiceStub(server.channel)
        response = models.HandleReloadConfigRequest(
            reload_request(second=half_plus_two), grpc_calls.TIMEOUT_SECS
        )
        assert response.status.error_code == 0
        request = grpc_calls.predict_request("second", x=np.float32([2]))
        assert list(stub.Predict(request, grpc_calls.TIMEOUT_SECS).outputs["y"].float_val) == [3.0]
        request = grpc_calls.predict_request("first", x=np.float32([2]))
        code, _ = grpc_calls.error_of(lambda: stub.Predict(request, grpc_calls.TIMEOUT_SECS))
        assert code is grpc.StatusCode.NOT_FOUND


def test_reload_with_a_label_for_a_missing_version_is_refused(half_plus_three):
    with harness.serve(model_name="m", model_base_path=str(half_plus_three)) as server:
        models = model_service_pb2_grpc.ModelServiceStub(server.channel)
        request = reload_request(m=half_plus_three)
        request.config.model_config_list.config[0].version_labels["stable"] = 99
        status = models.HandleReloadConfigRequest(request, grpc_calls.TIMEOUT_SECS).status
        assert status.error_code == grpc.StatusCode.FAILED_PRECONDITION.value[0]
        assert "not currently available for inference" in status.error_message
        assert server.http.get("/v1/models/m/labels/stable").status_code == 400


def test_reload_with_a_relative_path_is_refused_and_changes_nothing(half_plus_three):
    with harness.serve(model_name="m", model_base_path=str(half_plus_three)) as server:
        models = model_service_pb2_grpc.ModelServiceStub(server.channel)
        status = models.HandleReloadConfigRequest(
            reload_request(n="a/b"), grpc_calls.TIMEOUT_SECS
        ).status
        assert status.error_code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
        assert "absolute path" in status.error_message
        assert server.http.get("/v1/models/m").status_code == 200


def test_tensor_content_is_answered_when_asked_for(half_plus_three):
    settings = {"model_name": "m", "model_base_path": str(half_plus_three)}
    with harness.serve(**settings, enable_serialization_as_tensor_content=True) as server:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(server.channel)
        output = stub.Predict(
            grpc_calls.predict_request("m", x=np.float32([2])), grpc_calls.TIMEOUT_SECS
        ).outputs["y"]
        assert output.tensor_content == np.float32([4]).tobytes()
        assert not output.float_val


def test_deadline_passes_while_a_request_waits_for_a_worker(half_plus_three):
    settings = {"model_name": "m", "model_base_path": str(half_plus_three)}
    with harness.serve(**settings) as server:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(server.channel)
        version = server.app._models.find("m")
        run, released = version.batcher._run, threading.Event()
        version.batcher._run = lambda *args: (released.wait(30), run(*args))[1]
        request = grpc_calls.predict_request("m", x=np.float32([2]))
        code, _ = grpc_calls.error_of(lambda: stub.Predict(request, timeout=0.2))
        released.set()
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED
