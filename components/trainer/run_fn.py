"""The run function of TFX's Trainer: turns its arguments into a request, trains and exports."""

from __future__ import annotations

import itertools
import json
import pathlib
import shutil
import typing

import tensorflow as tf

from components.ingest.config import DataConfig
from components.input_pipeline.config import InputConfig
from components.trainer import memory, train
from components.trainer import request as train_request
from components.trainer.config import TrainingConfig
from components.transform import fitted, served
from components.transform.fitted import AnyFitted
from models.config import parse_model_config
from serving.export import export

if typing.TYPE_CHECKING:
    # Not at run time: the package around this module imports every TFX component.
    from tfx.components.trainer import fn_args_utils

# Files beside the SavedModel, in the same artifact.
KERAS_MODEL_PATH = "Format-Keras/model.keras"
_NUM_WARMUP_EXAMPLES = 8


def run_fn(fn_args: fn_args_utils.FnArgs) -> None:
    """Trains and exports; TFX's Trainer calls it by its dotted name.

    Args:
        fn_args: `train_files` and `eval_files` are patterns of shards; `custom_config` holds
            `recipe`, the resolved recipe as plain data, `strategy`, `trackers`, and `fingerprint`,
            under which an interrupted run finds its checkpoints.

    Raises:
        ValueError: If the recipe does not fit the data or this machine.
    """
    recipe = fn_args.custom_config["recipe"]
    request = make_request(fn_args)
    result = memory.train_or_explain(request)
    serving_dir = pathlib.Path(fn_args.serving_model_dir)
    export.export_model(
        result.model,
        serving_dir,
        class_names=request.data.class_names,
        warmup_examples=_first_examples(request.validation_files),
        served=served.served_input(
            request.data, request.fitted, pixel_dtype=result.model.inputs[0].dtype
        ),
        recipe=recipe,
    )
    keras_path = serving_dir.parent / KERAS_MODEL_PATH
    keras_path.parent.mkdir(parents=True)
    result.model.save(keras_path)
    if request.fitted is not None:
        # Without it nobody could ask the Keras model anything.
        fitted.write(request.fitted, keras_path.parent)
    run_dir = pathlib.Path(fn_args.model_run_dir)
    _move_contents(request.directory, run_dir)
    if request.directory != run_dir:
        _remove_abandoned(request.directory.parent)
    _write_history(run_dir, result)


def make_request(fn_args: fn_args_utils.FnArgs) -> train_request.TrainRequest:
    """Reads the settings that a step needs from TFX's arguments.

    Args:
        fn_args: As in `run_fn`.
    """
    recipe = fn_args.custom_config["recipe"]
    return train_request.TrainRequest(
        data=DataConfig.from_dict(recipe["data"]),
        input=InputConfig.from_dict(recipe.get("input", {})),
        model=parse_model_config(recipe["model"]),
        training=TrainingConfig.from_dict(recipe["training"]),
        seed=recipe["seed"],
        name=recipe["name"],
        trackers=tuple(fn_args.custom_config.get("trackers", ())),
        strategy=fn_args.custom_config["strategy"],
        data_service=fn_args.custom_config.get("data_service"),
        train_files=_matching(fn_args.train_files),
        validation_files=_matching(fn_args.eval_files),
        directory=_working_dir(fn_args),
        fitted=_read_fitted(fn_args.transform_graph_path),
    )


def _read_fitted(folder: str | None) -> AnyFitted | None:
    return None if folder is None else fitted.read(pathlib.Path(folder))


def _working_dir(fn_args: fn_args_utils.FnArgs) -> pathlib.Path:
    """Returns a folder that the next attempt finds: TFX gives each attempt artifacts of its own."""
    run_dir = pathlib.Path(fn_args.model_run_dir)
    fingerprint = fn_args.custom_config.get("fingerprint")
    if not fingerprint:
        return run_dir
    return run_dir.parent.parent / "unfinished" / fingerprint[:32]


def _move_contents(source: pathlib.Path, target: pathlib.Path) -> None:
    if source == target:
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        path.rename(target / path.name)
    source.rmdir()


def _remove_abandoned(unfinished_dir: pathlib.Path) -> None:
    """Removes what attempts with other settings left: their recipe has trained to the end since."""
    shutil.rmtree(unfinished_dir, ignore_errors=True)


def _matching(patterns: list[str]) -> tuple[str, ...]:
    return tuple(sorted(itertools.chain.from_iterable(map(tf.io.gfile.glob, patterns))))


def _first_examples(files: tuple[str, ...]) -> list[bytes]:
    records = tf.data.TFRecordDataset(list(files)).take(_NUM_WARMUP_EXAMPLES)
    return list(records.as_numpy_iterator())


def _write_history(directory: pathlib.Path, result: train.TrainResult) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    record: dict[str, typing.Any] = {
        "how": result.sentence(),
        "policy": result.policy,
        "num_replicas": result.num_replicas,
        "execution": result.execution.to_dict(),
        "epochs": [epoch.flat() for epoch in result.history],
    }
    (directory / "history.json").write_text(json.dumps(record, indent=1) + "\n")
