"""The batches of a request: training batches without end, and the validation split once."""

import tensorflow as tf

from components.input_pipeline import chain, decoding
from components.input_pipeline.config import InputConfig
from components.trainer import request as train_request
from components.trainer import run_length, targets
from models.blocks import heads


def num_classes(request: train_request.TrainRequest) -> int:
    """Returns the number of classes, >= 2; 0 if numbers are predicted."""
    return len(request.data.class_names)


def head(request: train_request.TrainRequest) -> heads.Head:
    """Returns what the model ends with; for numbers it reads the targets of the train split.

    Raises:
        ValueError: If a target is not finite, or all are the same.
    """
    if not request.data.predicts_numbers:
        return heads.Classes(num_classes=num_classes(request))
    num_numbers = request.data.num_numbers
    scale = targets.measure(request.train_files, num_numbers=num_numbers)
    return heads.Numbers(num_numbers=num_numbers, mean=scale.mean, deviation=scale.deviation)


def decoder(request: train_request.TrainRequest) -> decoding.Decoder:
    """Returns what turns the request's examples into model inputs and labels.

    Raises:
        ValueError: If the request lacks what the input needs of the training split.
    """
    return decoding.Decoder(request.data, request.fitted)


def count_examples(request: train_request.TrainRequest) -> int:
    """Returns the number of examples of the train split."""
    return chain.count_examples(request.train_files)


def count_steps_per_epoch(request: train_request.TrainRequest) -> int:
    """Returns the steps of one epoch of this run.

    Raises:
        BadRecipeError: If the batch is larger than the train split.
    """
    steps = run_length.steps_per_epoch(request.training, num_examples=count_examples(request))
    return steps if request.max_batches is None else min(steps, request.max_batches)


def train_dataset(request: train_request.TrainRequest, start_step: int = 0) -> tf.data.Dataset:
    """Returns endless batches (inputs, labels), a function of seed and step.

    Args:
        request: What to train.
        start_step: Global step of the first batch, >= 0.
    """
    return list(train_stages(request, request.input, start_step).values())[-1]


def train_stages(
    request: train_request.TrainRequest, input_config: InputConfig, start_step: int = 0
) -> dict[str, tf.data.Dataset]:
    """Returns the training chain cut off after each of its stages; see `chain.train_stages`.

    Args:
        request: What to train.
        input_config: Used in place of the request's own.
        start_step: Global step of the first batch, >= 0.
    """
    return chain.train_stages(
        request.train_files,
        decode=decoder(request),
        input_config=input_config,
        global_batch_size=request.training.global_batch_size,
        num_classes=num_classes(request) or None,
        seed=request.seed,
        start_step=start_step,
        service=request.data_service,
    )


def validation_dataset(request: train_request.TrainRequest) -> tf.data.Dataset:
    """Returns the validation split once, in batches of one shape, padding with weight 0."""
    dataset = chain.eval_dataset(
        request.validation_files,
        decode=decoder(request),
        global_batch_size=request.training.global_batch_size,
    )
    return dataset if request.max_batches is None else dataset.take(request.max_batches)
