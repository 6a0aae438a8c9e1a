"""Classify, Regress and MultiInference: tf.Examples in, TF Serving's result messages out."""

import numpy as np
from tensorflow_serving.apis import (
    classification_pb2,
    inference_pb2,
    input_pb2,
    regression_pb2,
)

from serving.server import calls, errors, example_results, inference, signature, versions


async def classify(
    engine: inference.Inference,
    request: classification_pb2.ClassificationRequest,
    call: calls.Call,
    *,
    deadline: float,
) -> classification_pb2.ClassificationResponse:
    """Answers PredictionService.Classify; raises ServingError."""
    with engine.measured(call, "Classify"), engine.use(call) as version:
        response = classification_pb2.ClassificationResponse()
        calls.fill_model_spec(response.model_spec, call, version)
        result = await _classify(call, version, request.input, deadline)
        response.result.CopyFrom(result)
        return response


async def regress(
    engine: inference.Inference,
    request: regression_pb2.RegressionRequest,
    call: calls.Call,
    *,
    deadline: float,
) -> regression_pb2.RegressionResponse:
    """Answers PredictionService.Regress; raises ServingError."""
    with engine.measured(call, "Regress"), engine.use(call) as version:
        response = regression_pb2.RegressionResponse()
        calls.fill_model_spec(response.model_spec, call, version)
        result = await _regress(call, version, request.input, deadline)
        response.result.CopyFrom(result)
        return response


async def multi_inference(
    engine: inference.Inference, request: inference_pb2.MultiInferenceRequest, *, deadline: float
) -> inference_pb2.MultiInferenceResponse:
    """Answers PredictionService.MultiInference; raises ServingError."""
    if not request.tasks:
        raise errors.invalid("Inference request must have at least one task.")
    wanted = [calls.call_of(task.model_spec) for task in request.tasks]
    if len({(call.model_name, call.version, call.label) for call in wanted}) > 1:
        raise errors.invalid("All ModelSpecs in a MultiInferenceRequest must access one model.")
    if len({call.signature_name for call in wanted}) < len(wanted):
        raise errors.invalid("Duplicate evaluation of signature in a MultiInferenceRequest.")
    response = inference_pb2.MultiInferenceResponse()
    with engine.measured(wanted[0], "MultiInference"), engine.use(wanted[0]) as version:
        for task, call in zip(request.tasks, wanted, strict=True):
            result = response.results.add()
            if task.method_name == signature.CLASSIFY_METHOD:
                classes = await _classify(call, version, request.input, deadline)
                result.classification_result.CopyFrom(classes)
            elif task.method_name == signature.REGRESS_METHOD:
                values = await _regress(call, version, request.input, deadline)
                result.regression_result.CopyFrom(values)
            else:
                raise errors.ServingError(
                    errors.Code.UNIMPLEMENTED,
                    f"Unsupported signature method_name: {task.method_name}",
                )
            calls.fill_model_spec(result.model_spec, call, version)
    return response


async def _run_examples(
    call: calls.Call,
    version: versions.Version,
    source: input_pb2.Input,
    method: str,
    deadline: float,
) -> tuple[int, dict[str, np.ndarray]]:
    signatures = version.model.signatures
    name = call.signature_name or calls.DEFAULT_SIGNATURE
    spec = example_results.find_signature(signatures, name, method)
    examples = example_results.serialize_examples(source)
    inputs = {next(iter(spec.inputs)): examples}
    outputs = await version.batcher.submit(spec, inputs, deadline=deadline)
    return len(examples), outputs


async def _classify(
    call: calls.Call, version: versions.Version, source: input_pb2.Input, deadline: float
) -> classification_pb2.ClassificationResult:
    method = signature.CLASSIFY_METHOD
    num_examples, outputs = await _run_examples(call, version, source, method, deadline)
    return example_results.classification(outputs, num_examples)


async def _regress(
    call: calls.Call, version: versions.Version, source: input_pb2.Input, deadline: float
) -> regression_pb2.RegressionResult:
    method = signature.REGRESS_METHOD
    num_examples, outputs = await _run_examples(call, version, source, method, deadline)
    return example_results.regression(outputs, num_examples)
