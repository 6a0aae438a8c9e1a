import numpy as np
import pytest
import soundfile

from components.ingest import recording_survey
from components.ingest.errors import DataError

SHARES = {"validation_share": 0.15, "test_share": 0.15}


def write_tones(folder, counts, *, rate_hz=4000, num_silent=0, seconds=0.5):
    """Writes tones of a height for each class; the first of the last class are silent."""
    for place, (name, count) in enumerate(counts.items()):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            phase = 2 * np.pi * 300 * (place + 1) * np.arange(int(seconds * rate_hz)) / rate_hz
            volume = 0.2 + 0.01 * number
            if place == len(counts) - 1 and number < num_silent:
                # Silence of other lengths, or they would be copies.
                volume, phase = 0.0, phase[: 1000 + number]
            soundfile.write(folder / name / f"{number}.wav", volume * np.sin(phase), rate_hz)


def test_classes_rates_and_lengths_are_found(tmp_path):
    write_tones(tmp_path, {"high": 20, "low": 60}, rate_hz=8000, seconds=0.5)
    found = recording_survey.survey_recordings(tmp_path, **SHARES)
    assert found.class_counts == {"high": 20, "low": 60}
    assert (found.sample_rate_hz, found.has_one_rate) == (8000, True)
    assert (found.seconds_N.min(), found.seconds_N.max()) == (0.5, 0.5)
    assert (found.majority_share, found.has_test_split) == (0.75, False)


def test_the_most_frequent_rate_is_taken(tmp_path):
    write_tones(tmp_path, {"high": 20, "low": 20})
    write_tones(tmp_path, {"high": 5}, rate_hz=2000)
    found = recording_survey.survey_recordings(tmp_path, **SHARES)
    assert (found.sample_rate_hz, found.has_one_rate) == (4000, False)


def test_a_file_that_is_no_recording_is_named(tmp_path):
    write_tones(tmp_path, {"high": 20, "low": 20})
    (tmp_path / "low" / "a.wav").write_text("hello")
    with pytest.raises(DataError, match=r"Expected .*low/a.wav to be a recording. Received: "):
        recording_survey.survey_recordings(tmp_path, **SHARES)


@pytest.mark.parametrize(("suffix", "expected"), [("wav", True), ("FLAC", True), ("png", False)])
def test_folders_of_recordings_are_told_by_the_files_names(tmp_path, suffix, expected):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"1.{suffix}").touch()
    assert recording_survey.holds_recordings(tmp_path) == expected
