"""Drafts a commented recipe for the images of a folder or a file."""

import dataclasses

from components.ingest.survey import ImageSurvey
from pipeline import toml_text
from pipeline.drafts import parts
from pipeline.drafts.machine import Machine

# The largest side that is quick to train with on processors, and on a GPU.
_MAX_SIDE_PX, _MAX_GPU_SIDE_PX = 96, 224
_MIN_CNN_SIDE_PX = 8
_TARGET_STEPS = 2000
_MAX_TRIED = 100_000


@dataclasses.dataclass(frozen=True)
class Origin:
    """The kind of source, and what it calls images and labels; None where nothing is named."""

    kind: str = "image_folder"
    image: str | None = None
    label: str | None = None


_FOLDER = Origin()


class ImagesDraft(parts.Draft):
    """The recipe for the images that were looked at.

    Args:
        survey: From `components.ingest.survey`, with the shares of `parts`.
        name: The recipe's name, such as `parts.recipe_name` gives.
        machine: Where it will run.
        origin: Where the images are from.
    """

    num_splits = 1

    def __init__(
        self, survey: ImageSurvey, *, name: str, machine: Machine, origin: Origin = _FOLDER
    ):
        self._origin = origin
        self._survey, self._name, self._machine = survey, name, machine
        self.seed = survey.seed
        self.is_whole = survey.num_images <= _MAX_TRIED
        self._shares = parts.folder_shares(has_test_split=survey.has_test_split)
        self._size_px = self._fit(survey.median_height_px, survey.median_width_px)
        self.summary = f"{survey.num_images} images, {len(survey.class_counts)} classes"

    def notes(self, choices: parts.Choices) -> tuple[str, ...]:
        """Says what was chosen."""
        height_px, width_px = self._size_px
        asked = f"which {self._origin.label or 'folder'}"
        of = "is from" if self._origin == _FOLDER else "has"
        return (f"predicts {asked} an image of {width_px} x {height_px} px {of}",)

    def text(self, choices: parts.Choices) -> str:
        """Returns the recipe."""
        survey, machine = self._survey, self._machine
        classes = survey.class_counts
        test_note = ", and a test split of their own" if survey.has_test_split else ""
        num_train = max(1, round(survey.num_images * (1 - sum(self._shares.values()))))
        batch_size = machine.batch_size(num_train, small=16, large=64, from_rows=1000)
        num_epochs = machine.num_epochs(
            num_train, batch_size=batch_size, num_steps=_TARGET_STEPS, least=5, most=30
        )
        majority = max(classes, key=lambda label: classes[label])
        return "".join(
            [
                parts.head(
                    f"{survey.num_images} images of {len(classes)} classes{test_note}",
                    machine,
                    name=self._name,
                    description=f"The images of {survey.path.name} by class.",
                    task="image_classification",
                    seed=choices.seed,
                ),
                self._source(),
                self._image(),
                parts.labels(list(classes), source_name=self._origin.label),
                parts.hash_splits(self._shares, thing="image"),
                parts.rejects(choices, thing="files"),
                parts.guard(choices),
                self._input(),
                self._model(),
                parts.training(
                    machine, num_train=num_train, num_epochs=num_epochs, batch_size=batch_size
                ),
                parts.class_gate(majority, survey.majority_share),
            ]
        )

    def _source(self) -> str:
        path = toml_text.value(str(self._survey.path))
        has_arrays = self._survey.has_test_split and self._origin != _FOLDER
        test = f"# Its arrays of the test split.\ntest_path = {path}\n" if has_arrays else ""
        return f'[data.source]\nkind = "{self._origin.kind}"\npath = {path}\n{test}\n'

    def _fit(self, height_px: int, width_px: int) -> tuple[int, int]:
        """Shrinks a size to the largest side that is quick to train with, keeping its shape."""
        most_px = _MAX_GPU_SIDE_PX if self._machine.gpu else _MAX_SIDE_PX
        scale = min(1.0, most_px / max(height_px, width_px))
        return max(1, round(height_px * scale)), max(1, round(width_px * scale))

    def _image(self) -> str:
        survey, (height_px, width_px) = self._survey, self._size_px
        is_shrunk = self._size_px != (survey.median_height_px, survey.median_width_px)
        note = f", shrunk to at most {max(self._size_px)} px" if is_shrunk else ""
        name = self._origin.image
        column = f"source_name = {toml_text.value(name)}\n" if name else ""
        return (
            f"# The images' median size{note}.\n[data.image]\n{column}height_px = {height_px}\n"
            f"width_px = {width_px}\nchannels = {1 if survey.is_grey else 3}\n"
            f"resize = {toml_text.value(is_shrunk or not survey.has_one_size)}\n\n"
        )

    def _input(self) -> str:
        height_px, width_px = self._size_px
        channels = 1 if self._survey.is_grey else 3
        num_bytes = self._survey.num_images * height_px * width_px * channels
        return (
            parts.cache(self._machine, num_bytes=num_bytes, things="images")
            + "# Turn on what leaves an image in its class; `kerasline data preview` draws it.\n"
            f"[input.augment]\nhorizontal_flip = false\n"
            f"max_translation_px = {min(height_px, width_px) // 16}\n\n"
        )

    def _model(self) -> str:
        architecture = "cnn" if min(self._size_px) >= _MIN_CNN_SIDE_PX else "mlp"
        return f'[model]\narchitecture = "{architecture}"\n\n'
