"""The batches of a request: training batches without end, and the validation split once.

Axes: B batch, H height, W width, C channels.
"""

import tensorflow as tf

from components.input_pipeline import chain
from components.trainer import request as train_request
from components.trainer import run_length


def num_classes(request: train_request.TrainRequest) -> int:
    """Returns the number of classes, >= 2."""
    return len(request.data.class_names)


def image_shape(request: train_request.TrainRequest) -> tuple[int, int, int]:
    """Returns (height, width, channels) of the images."""
    image = request.data.image_feature()
    return image.height_px, image.width_px, image.channels


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
    """Returns endless batches (images_BHWC, labels), a function of seed and step.

    Args:
        request: What to train.
        start_step: Global step of the first batch, >= 0.
    """
    return chain.train_dataset(
        request.train_files,
        image=request.data.image_feature(),
        input_config=request.input,
        global_batch_size=request.training.global_batch_size,
        num_classes=num_classes(request),
        seed=request.seed,
        start_step=start_step,
    )


def validation_dataset(request: train_request.TrainRequest) -> tf.data.Dataset:
    """Returns the validation split once, in batches of one shape, padding with weight 0."""
    dataset = chain.eval_dataset(
        request.validation_files,
        image=request.data.image_feature(),
        global_batch_size=request.training.global_batch_size,
    )
    return dataset if request.max_batches is None else dataset.take(request.max_batches)
