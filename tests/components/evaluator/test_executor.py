"""Evaluation in this process finds what TFX's Evaluator finds with Beam."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_model_analysis as tfma
from tfx.types import standard_artifacts
from tfx.types.experimental import simple_artifacts
from tfx.utils import proto_utils

from components.evaluator import component, config, executor, outcome
from components.reference import answers
from tests.components import tfx_factories

# (label, brightness) of the test examples.
_EXAMPLES = [(0, 0), (0, 40), (0, 200), (1, 90), (1, 180), (1, 220), (1, 255), (0, 120)]
_THRESHOLDS = config.ClassThresholds(
    min_accuracy=0.7, min_class_accuracy=0.6, max_accuracy_drop=0.05
)
_CLOSE = {"rel": 1e-5, "abs": 1e-6}


class _BrightnessModel(tf.Module):
    """Takes an image for class 1 the more, the brighter it is than `middle`."""

    def __init__(self, middle):
        super().__init__()
        self.middle = tf.Variable(middle)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(self, examples):
        features = {"image": tf.io.FixedLenFeature((), tf.string)}
        encoded = tf.io.parse_example(examples, features)["image"]
        spec = tf.TensorSpec((2, 2, 1), tf.uint8)
        images = tf.map_fn(tf.io.decode_png, encoded, fn_output_signature=spec)
        brightness = tf.reduce_mean(tf.cast(images, tf.float32), axis=[1, 2, 3])
        share = tf.sigmoid((brightness - self.middle) / 50)
        return {"probabilities": tf.stack([1 - share, share], axis=1)}


def _model(folder, middle):
    module = _BrightnessModel(middle)
    tf.saved_model.save(
        module, str(folder / "Format-Serving"), signatures={"serve_examples": module.serve}
    )
    return tfx_factories.artifact(standard_artifacts.Model, folder)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    examples = [tfx_factories.example(label, fill=fill) for label, fill in _EXAMPLES]
    tfx_factories.write_split(folder / "examples", "test", examples)
    return {
        "examples": [
            tfx_factories.artifact(
                standard_artifacts.Examples, folder / "examples", split_names='["test"]'
            )
        ],
        "model": [_model(folder / "candidate", 150.0)],
        "baseline_model": [_model(folder / "baseline", 100.0)],
    }


def _evaluate(
    folder, inputs, *, beam_arguments=(), thresholds=_THRESHOLDS, reference_rule="report"
):
    evaluation = tfx_factories.artifact(standard_artifacts.ModelEvaluation, folder / "evaluation")
    blessing = tfx_factories.artifact(standard_artifacts.ModelBlessing, folder / "blessing")
    eval_config = component.make_eval_config(thresholds, label_name="label")
    properties = {
        "eval_config": proto_utils.proto_to_json(eval_config),
        "example_splits": json.dumps(["test"]),
        "reference_rule": reference_rule,
    }
    context = executor.Executor.Context(beam_pipeline_args=list(beam_arguments))
    outputs = {"evaluation": [evaluation], "blessing": [blessing]}
    executor.Executor(context).Do(inputs, outputs, properties)
    return evaluation.uri, blessing


@pytest.fixture(scope="module")
def both(inputs, tmp_path_factory):
    """Candidate and baseline, evaluated in this process."""
    return _evaluate(tmp_path_factory.mktemp("both"), inputs)


def _without_baseline(inputs):
    return {name: inputs[name] for name in ("examples", "model")}


def test_accuracy_and_confusion_are_those_counted_by_hand(both):
    found = outcome.read(both[0])
    # Brighter than 150 is taken for class 1: one of four cats and one of four dogs are wrong.
    assert found.metrics["accuracy"] == pytest.approx(6 / 8)
    assert found.class_accuracy == pytest.approx((3 / 4, 3 / 4))
    assert found.confusion_KK == ((3, 1), (1, 3))
    # Brighter than 100: two cats are wrong.
    assert found.baseline_metrics["accuracy"] == pytest.approx(5 / 8)


def test_the_loss_is_the_mean_cross_entropy(both):
    share_B = 1 / (1 + np.exp(-(np.array([fill for _, fill in _EXAMPLES]) - 150) / 50))
    right_B = np.where([label == 1 for label, _ in _EXAMPLES], share_B, 1 - share_B)
    expected = -np.log(right_B).mean()
    assert outcome.read(both[0]).metrics["loss"] == pytest.approx(expected, rel=1e-4)


def test_a_good_model_is_blessed_with_what_the_resolver_looks_for(both, inputs):
    blessing = both[1]
    assert blessing.get_int_custom_property("blessed") == 1
    assert blessing.get_string_custom_property("current_model") == inputs["model"][0].uri
    assert blessing.has_custom_property("current_model_id")


def test_a_class_below_its_threshold_is_not_blessed(inputs, tmp_path):
    strict = config.ClassThresholds(min_accuracy=0.9, min_class_accuracy=0.6)
    uri, blessing = _evaluate(tmp_path, _without_baseline(inputs), thresholds=strict)
    found = outcome.read(uri)
    assert blessing.get_int_custom_property("blessed") == 0
    (failure,) = found.failures
    assert (failure.label, failure.kind, failure.value) == (None, "value", 0.75)
    assert failure.bound == pytest.approx(0.9, abs=1e-5)


def test_a_drop_against_the_baseline_is_not_blessed(inputs, tmp_path):
    swapped = {**inputs, "model": inputs["baseline_model"], "baseline_model": inputs["model"]}
    lenient = config.ClassThresholds(
        min_accuracy=0.0, min_class_accuracy=0.0, max_accuracy_drop=0.05
    )
    uri, _ = _evaluate(tmp_path, swapped, thresholds=lenient)
    (failure,) = outcome.read(uri).failures
    assert (failure.kind, failure.value) == ("change", pytest.approx(-1 / 8))


def test_the_same_drop_passes_where_there_is_no_baseline(inputs, tmp_path):
    lenient = config.ClassThresholds(min_accuracy=0.0, min_class_accuracy=0.0)
    assert outcome.read(
        _evaluate(tmp_path, _without_baseline(inputs), thresholds=lenient)[0]
    ).blessed


def _assert_same(folded_dir, beam_dir):
    for model_name in (None, "candidate", "baseline"):
        results = [
            tfma.load_eval_result(str(path), model_name=model_name)
            for path in (folded_dir, beam_dir)
        ]
        ours, theirs = (dict(result.slicing_metrics) for result in results)
        assert set(ours) == set(theirs)
        for slice_key, outputs in theirs.items():
            received = ours[slice_key][""][""] if outputs else {}
            expected = outputs[""][""] if outputs else {}
            assert set(received) == set(expected)
            for name, value in expected.items():
                assert received[name]["doubleValue"] == pytest.approx(
                    value["doubleValue"], **_CLOSE
                )
    ours, theirs = (tfma.load_validation_result(str(path)) for path in (folded_dir, beam_dir))
    assert ours.validation_ok == theirs.validation_ok
    assert len(ours.metric_validations_per_slice) == len(theirs.metric_validations_per_slice)


def test_tfma_reads_the_same_as_after_beam_with_a_baseline(both, inputs, tmp_path):
    with_beam, _ = _evaluate(tmp_path, inputs, beam_arguments=["--runner=DirectRunner"])
    _assert_same(both[0], with_beam)
    assert outcome.read(both[0]).confusion_KK == outcome.read(with_beam).confusion_KK


def test_tfma_reads_the_same_as_after_beam_without_one(inputs, tmp_path):
    alone = _without_baseline(inputs)
    folded_dir, _ = _evaluate(tmp_path / "folded", alone)
    with_beam, _ = _evaluate(tmp_path / "beam", alone, beam_arguments=["--runner=DirectRunner"])
    result = [dict(tfma.load_eval_result(path).slicing_metrics) for path in (folded_dir, with_beam)]
    assert set(result[0]) == set(result[1])
    for slice_key, outputs in result[1].items():
        for name, value in outputs[""][""].items():
            received = result[0][slice_key][""][""][name]["doubleValue"]
            assert received == pytest.approx(value["doubleValue"], **_CLOSE)


@pytest.mark.parametrize(
    ("rule", "right", "is_blessed"), [("report", 8, True), ("beat", 8, False), ("beat", 3, True)]
)
def test_a_reference_is_compared_and_may_be_required_to_be_beaten(
    inputs, tmp_path, rule, right, is_blessed
):
    # In the order of the two shards.
    labels = np.array([label for label, _ in _EXAMPLES[0::2] + _EXAMPLES[1::2]])
    folder = tmp_path / "reference"
    reference = tfx_factories.artifact(simple_artifacts.File, folder)
    its_answers = np.where(np.arange(8) < right, labels, 1 - labels)
    answers.write(
        answers.Answers(name="trees", advice="Use them.", num_train=9, answers_N=its_answers),
        folder,
    )
    both = {**_without_baseline(inputs), "reference": [reference]}
    uri, blessing = _evaluate(tmp_path, both, reference_rule=rule)
    found = outcome.read(uri)
    assert found.comparison.value == right / 8
    assert found.comparison.gain == pytest.approx(6 / 8 - right / 8)
    assert (found.blessed, blessing.get_int_custom_property("blessed")) == (is_blessed, is_blessed)
    marks = {path.name for path in (tmp_path / "blessing").iterdir()}
    assert marks == {"BLESSED" if is_blessed else "NOT_BLESSED"}
