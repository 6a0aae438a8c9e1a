"""The random changes that belong to a kind of input.

Legend: B batch.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from components.input_pipeline.augmentation import images, recordings, series, tokens
from components.input_pipeline.config import InputConfig
from models import inputs

# From (inputs, answers, seed_2) to inputs and answers.
Augmenter = Callable[[Any, tf.Tensor, tf.Tensor], tuple[Any, tf.Tensor]]


def make_augmenter(config: InputConfig, spec: inputs.InputSpec) -> Augmenter | None:
    """Returns what changes a batch of a recipe's examples, or None if nothing does.

    Args:
        config: The recipe's `[input]`.
        spec: What the model reads.

    Raises:
        ValueError: If a table of `[input]` changes another kind of input.
    """
    config.check_kind(spec.kind)
    if spec.kind not in config.augmented_kinds():
        return None

    def augment(model_inputs: Any, answers: tf.Tensor, seed_2: tf.Tensor) -> tuple[Any, tf.Tensor]:
        # AutoGraph, which reads this, does not know `match`.
        if isinstance(spec, inputs.SeriesInput):
            return series.augment_series(
                model_inputs, answers, config.augment_series, seed_2=seed_2
            )
        if isinstance(spec, inputs.TokensInput):
            changed = tokens.augment_tokens(
                model_inputs,
                config.augment_text,
                vocabulary_size=spec.vocabulary_size,
                seed_2=seed_2,
            )
        elif isinstance(spec, inputs.ImageInput):
            changed = images.augment_images(model_inputs, config.augment, seed_2=seed_2)
        else:
            changed = recordings.augment_recordings(
                model_inputs, config.augment_audio, seed_2=seed_2
            )
        return changed, answers

    return augment
