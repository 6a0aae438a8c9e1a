"""Drafts a commented recipe for a folder of images."""

import re
from pathlib import Path

from components.ingest.survey import FolderSurvey
from pipeline import toml_text

VALIDATION_SHARE = 0.15
TEST_SHARE = 0.15

_MAX_SIDE_PX = 96
_MIN_CNN_SIDE_PX = 8
_TARGET_STEPS = 2000
# How much better than always answering with the most frequent class a model must be.
_MARGIN = 0.05

_TEMPLATE = """\
# {num_images} images of {num_classes} classes{test_note}.
schema_version = 1
name = {name}
description = {description}
task = "image_classification"
# With this seed every split has examples of every class.
seed = {seed}

[data.source]
kind = "image_folder"
path = {path}

# The images' median size{size_note}.
[data.image]
height_px = {height_px}
width_px = {width_px}
channels = {channels}
resize = {resize}

[data.label]
class_names = {class_names}

# Membership is a hash of the image: it stays in its split when the data grows.
[data.splits]
validation_share = {validation_share}
{test_share_line}
# Allow a share of damaged files; they are listed beside the data.
[data.rejects]
max_share = 0.0

# Turn on what leaves an image in its class.
[input.augment]
horizontal_flip = false
max_translation_px = {translation_px}

[model]
architecture = "{architecture}"

# About {steps} steps.
[training]
num_epochs = {num_epochs}
global_batch_size = {batch_size}
# "auto" is float32 on a CPU, and half precision where the accelerator gains from it.
precision = "auto"

# Always answering "{majority}" is right in {majority_share:.1%} of cases; a model must do better.
# Raise both once you know what is within reach.
[evaluation]
min_accuracy = {min_accuracy}
min_class_accuracy = 0.0
"""


def draft_recipe(survey: FolderSurvey, *, name: str) -> str:
    """Returns the text of a recipe for the images that were looked at.

    Args:
        survey: From `components.ingest.survey.survey_folder`, with the shares of this module.
        name: The recipe's name, such as `recipe_name` gives.
    """
    height_px, width_px = _fit(survey.median_height_px, survey.median_width_px)
    is_shrunk = (height_px, width_px) != (survey.median_height_px, survey.median_width_px)
    num_train = max(1, round(survey.num_images * (1 - VALIDATION_SHARE - TEST_SHARE)))
    batch_size = min(64 if num_train >= 1000 else 16, num_train)
    num_epochs = min(max(_TARGET_STEPS * batch_size // num_train, 5), 30)
    classes = survey.class_counts
    return _TEMPLATE.format(
        num_images=survey.num_images,
        num_classes=len(classes),
        test_note=" to train on, and a test split of their own" if survey.has_test_split else "",
        name=toml_text.value(name),
        description=toml_text.value(f"The images of {survey.path.name} by class."),
        seed=survey.seed,
        path=toml_text.value(str(survey.path)),
        size_note=f", shrunk to at most {_MAX_SIDE_PX} px" if is_shrunk else "",
        height_px=height_px,
        width_px=width_px,
        channels=1 if survey.is_grey else 3,
        resize=toml_text.value(is_shrunk or not survey.has_one_size),
        class_names=toml_text.value(list(classes)),
        validation_share=VALIDATION_SHARE,
        test_share_line="" if survey.has_test_split else f"test_share = {TEST_SHARE}\n",
        translation_px=min(height_px, width_px) // 16,
        architecture="cnn" if min(height_px, width_px) >= _MIN_CNN_SIDE_PX else "mlp",
        steps=-(-num_train // batch_size) * num_epochs,
        num_epochs=num_epochs,
        batch_size=batch_size,
        majority=max(classes, key=lambda label: classes[label]),
        majority_share=survey.majority_share,
        min_accuracy=round(min(survey.majority_share + _MARGIN, 1.0), 3),
    )


def recipe_name(folder: Path) -> str:
    """Returns a valid recipe name that resembles a folder's.

    >>> recipe_name(Path("/data/My Photos (2026)"))
    'my_photos_2026'
    """
    words = re.findall(r"[a-z0-9]+", folder.name.lower())
    name = "_".join(words)[:50].rstrip("_")
    return name if name[:1].isalpha() else f"images_{name}"[:50].rstrip("_")


def _fit(height_px: int, width_px: int) -> tuple[int, int]:
    """Shrinks a size to the largest side that is quick to train with, keeping its shape."""
    scale = min(1.0, _MAX_SIDE_PX / max(height_px, width_px))
    return max(1, round(height_px * scale)), max(1, round(width_px * scale))
