"""Every known fault of Keras 3 under distribution, and the test that fails without its mend.

docs/training.md has the same list for users.
"""

import ast
import pathlib

import pytest

from models import registry
from models.blocks import heads
from models.config import parse_model_config
from models.inputs import TokensInput

_FOLDER = pathlib.Path(__file__).parent
_EQUALITY = "test_equality.py::test_replicas_train_and_measure_as_one_device_does"
_RESUME = "test_resume.py::test_twenty_kills_at_random_moments_change_no_bit"
_FAULTS = {
    "LossScaleOptimizer looks for overflow on the first replica alone": (
        "test_equality.py::test_overflow_on_one_replica_skips_the_step_everywhere_once"
    ),
    "clipping comes before the sum over replicas": _EQUALITY,
    "gradient accumulation and averages raise `merge_call`": _EQUALITY,
    "steps_per_execution > 1 fails with the default collectives": _EQUALITY,
    "dropout draws the same mask on every replica": (
        "test_equality.py::test_each_replica_drops_other_units_and_the_first_the_same_as_one_device"
    ),
    "seeds are saved nowhere, so that a resume is not exact": _RESUME,
    "fit fails under MultiWorkerMirroredStrategy": (
        "test_equality.py::test_two_processes_train_and_measure_as_one_device_does"
    ),
    "keras.distribution silently does nothing": (
        "test_build.py::test_keras_distribution_is_refused_because_it_would_do_nothing"
    ),
    "TerminateOnNaN misses NaN behind a ReLU": (
        "test_health.py::test_nan_weights_behind_a_relu_stop_the_run_and_are_named"
    ),
    "batch normalisation is not synchronised": _EQUALITY,
    "a short last batch counts too much in training": (
        "../input_pipeline/test_chain.py::test_batches_have_static_shapes"
    ),
    "a short last batch counts too much in evaluation": (
        "../input_pipeline/test_chain.py::test_evaluation_sees_each_example_once_and_masks_the_rest"
    ),
    "XLA fails with several replicas": (
        "../../pipeline/test_config.py::test_xla_with_a_strategy_of_several_replicas_is_refused"
    ),
    "string inputs fail under a strategy": (
        "test_faults.py::test_models_of_texts_read_integers_so_that_no_strategy_meets_a_string"
    ),
    "float(optimizer.learning_rate) raises under Mirrored": _EQUALITY,
    "a second MirroredStrategy of a process fails": (
        "test_strategy.py::test_mirrored_twice_in_one_process_reduces_in_loops_on_the_device"
    ),
    "RematScope fails inside a graph": (
        "test_rematerialisation.py::test_weights_averages_and_dropout_are_those_of_the_plain_model"
    ),
    "a plateau beside a schedule raises TypeError": (
        "test_config.py::test_contradictions_are_refused_with_the_values"
    ),
    "load_weights drops the optimizer's state": _RESUME,
    "BackupAndRestore writes in place": (
        "test_checkpoints.py::test_kills_in_the_middle_of_writing_leave_a_whole_checkpoint"
    ),
    "BackupAndRestore forgets the callbacks": (
        "test_saving.py::test_resume_puts_early_stopping_plateau_and_log_back"
    ),
    "the first step of a schedule has rate 0": (
        "test_schedule.py::test_warmup_rises_in_equal_parts_and_wastes_no_step"
    ),
    "the steps of a schedule leave the warm-up out": (
        "test_schedule.py::test_linear_would_reach_zero_one_step_after_the_last"
    ),
    "label smoothing needs one-hot labels": (
        "test_losses.py::test_sparse_smoothing_equals_keras_one_hot_smoothing"
    ),
    "a checkpoint holds the averaged weights": (
        "test_step.py::test_average_is_lent_to_the_model_and_taken_back"
    ),
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_fault_has_its_test(fault):
    path, name = _FAULTS[fault].split("::")
    tree = ast.parse((_FOLDER / path).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_models_of_texts_read_integers_so_that_no_strategy_meets_a_string():
    model = registry.build_model(
        parse_model_config({"architecture": "bag_of_embeddings"}),
        inputs=TokensInput(vocabulary_size=9, max_tokens=4),
        head=heads.Classes(num_classes=2),
    )
    assert [tensor.dtype for tensor in model.inputs] == ["int32"]
