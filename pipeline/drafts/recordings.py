"""Drafts a commented recipe for a folder of recordings."""

import numpy as np

from components.ingest.recording_survey import RecordingsSurvey
from pipeline import toml_text
from pipeline.drafts import parts
from pipeline.drafts.machine import Machine

# What is longer is cut off; half of the model's time goes by the length.
_LENGTH_PERCENTILE = 90
_MIN_SECONDS, _MAX_SECONDS, _MAX_GPU_SECONDS = 0.5, 3.0, 10.0
_TARGET_STEPS = 500
_LEARNING_RATE = 5e-3
_FLOAT_BYTES = 4
_MAX_TRIED = 100_000


class RecordingsDraft(parts.Draft):
    """The recipe for the recordings that were looked at.

    Args:
        survey: From `components.ingest.recording_survey.survey_recordings`.
        name: The recipe's name.
        machine: Where it will run.
    """

    num_splits = 1

    def __init__(self, survey: RecordingsSurvey, *, name: str, machine: Machine):
        self._survey, self._name, self._machine = survey, name, machine
        self.seed = survey.seed
        self.is_whole = survey.num_recordings <= _MAX_TRIED
        self.summary = f"{survey.num_recordings} recordings, {len(survey.class_counts)} classes"
        self._shares = parts.folder_shares(has_test_split=survey.has_test_split)
        self._seconds = self._length()

    def notes(self, choices: parts.Choices) -> tuple[str, ...]:
        """Says what was chosen."""
        return (
            f"predicts which folder a recording is from, by its first {self._seconds:g} s at "
            f"{self._survey.sample_rate_hz} Hz",
        )

    def text(self, choices: parts.Choices) -> str:
        """Returns the recipe."""
        survey, machine = self._survey, self._machine
        classes = survey.class_counts
        num_train = max(1, round(survey.num_recordings * (1 - sum(self._shares.values()))))
        batch_size = machine.batch_size(num_train, small=16, large=32, from_rows=500)
        num_epochs = machine.num_epochs(
            num_train, batch_size=batch_size, num_steps=_TARGET_STEPS, least=5, most=30
        )
        num_bytes = survey.num_recordings * self._seconds * survey.sample_rate_hz * _FLOAT_BYTES
        return "".join(
            [
                parts.head(
                    f"{survey.num_recordings} recordings of {len(classes)} classes",
                    machine,
                    name=self._name,
                    description=f"The recordings of {survey.path.name} by class.",
                    task="audio_classification",
                    seed=choices.seed,
                ),
                f'[data.source]\nkind = "audio_folder"\n'
                f"path = {toml_text.value(str(survey.path))}\n\n",
                self._audio(),
                parts.labels(list(classes)),
                parts.hash_splits(self._shares, thing="file"),
                parts.rejects(choices, thing="files"),
                parts.guard(choices),
                parts.cache(machine, num_bytes=round(num_bytes), things="recordings"),
                "# The spectrogram is part of the model.\n[model]\n"
                'architecture = "spectrogram_cnn"\n\n'
                "# Masks over frequencies and times, in training only.\n[model.spec_augment]\n\n",
                parts.training(
                    machine,
                    num_train=num_train,
                    num_epochs=num_epochs,
                    batch_size=batch_size,
                    learning_rate=_LEARNING_RATE,
                ),
                parts.class_gate(
                    max(classes, key=lambda label: classes[label]), survey.majority_share
                ),
            ]
        )

    def _length(self) -> float:
        most = _MAX_GPU_SECONDS if self._machine.gpu else _MAX_SECONDS
        usual = float(np.percentile(self._survey.seconds_N, _LENGTH_PERCENTILE))
        return float(np.ceil(min(max(usual, _MIN_SECONDS), most) * 10) / 10)

    def _audio(self) -> str:
        survey = self._survey
        share = float(np.mean(survey.seconds_N > self._seconds))
        rate = (
            "# All files looked at have this rate."
            if survey.has_one_rate
            else "# The most frequent rate; the others are resampled."
        )
        resample = "" if survey.has_one_rate else "resample = true\n"
        return (
            f"[data.audio]\n{rate}\nsample_rate_hz = {survey.sample_rate_hz}\n{resample}"
            f"# {share:.0%} of the recordings are longer and are cut off; half the length would "
            f"halve the time.\nmax_seconds = {self._seconds}\n\n"
        )
