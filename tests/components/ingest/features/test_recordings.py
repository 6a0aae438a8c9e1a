import io

import numpy as np
import pytest
import soundfile

from components.ingest import ingest
from components.ingest.errors import DataError, RowError
from components.ingest.features import recordings
from components.ingest.features.config import AudioFeature
from tests.components import data_factories

FEATURE = AudioFeature(sample_rate_hz=8000, max_seconds=1.0)


def encode(samples: np.ndarray, kind: str = "WAV", subtype: str = "PCM_16", rate_hz: int = 8000):
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate_hz, format=kind, subtype=subtype)
    return stream.getvalue()


def tone(frequency_hz: float = 440.0, *, rate_hz: int = 8000, seconds: float = 0.5) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * frequency_hz * np.arange(seconds * rate_hz) / rate_hz)


def read(content: bytes) -> tuple[np.ndarray, int]:
    with soundfile.SoundFile(io.BytesIO(content)) as file:
        assert (file.format, file.subtype, file.channels) == ("WAV", "PCM_16", 1)
        return file.read(), file.samplerate


def test_a_plain_file_keeps_its_bytes():
    content = encode(tone())
    assert recordings.normalise_recording(content, FEATURE) == content


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [
        ("FLAC", "PCM_16"),
        ("FLAC", "PCM_24"),
        ("WAV", "FLOAT"),
        ("WAV", "ULAW"),
        ("WAVEX", "PCM_16"),
    ],
)
def test_other_kinds_become_plain_files(kind, subtype):
    content = recordings.normalise_recording(encode(tone(), kind, subtype), FEATURE)
    samples_N, rate_hz = read(content)
    assert rate_hz == 8000
    np.testing.assert_allclose(samples_N, tone(), atol=0.02 if subtype == "ULAW" else 1e-4)


def test_lossy_kinds_keep_the_tone():
    samples_N, _ = read(recordings.normalise_recording(encode(tone(), "OGG", "VORBIS"), FEATURE))
    assert np.abs(np.fft.rfft(samples_N)).argmax() == 440 * len(samples_N) // 8000


def test_channels_become_their_mean():
    stereo_N2 = np.stack([tone(), -0.5 * tone()], axis=1)
    samples_N, _ = read(recordings.normalise_recording(encode(stereo_N2), FEATURE))
    np.testing.assert_allclose(samples_N, 0.25 * tone(), atol=1e-4)


def test_another_rate_is_refused():
    content = encode(tone(rate_hz=16000), rate_hz=16000)
    with pytest.raises(RowError, match="16000 samples per second instead of 8000: correct"):
        recordings.normalise_recording(content, FEATURE)


def test_another_rate_is_resampled_where_the_recipe_says_so():
    content = encode(tone(rate_hz=44100), rate_hz=44100)
    feature = FEATURE.model_copy(update={"resample": True})
    samples_N, rate_hz = read(recordings.normalise_recording(content, feature))
    assert rate_hz == 8000
    np.testing.assert_allclose(samples_N[200:-200], tone()[200:-200], atol=0.01)


def test_a_float_file_is_clipped_not_wrapped():
    samples_N, _ = read(
        recordings.normalise_recording(encode(4 * tone(), subtype="FLOAT"), FEATURE)
    )
    assert samples_N.max() == pytest.approx(1.0, abs=1e-3)
    assert np.abs(np.diff(samples_N)).max() < 1.0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"not a recording", "not a recording that libsndfile can read"),
        (encode(tone())[:20], "not a recording that libsndfile can read"),
        (encode(np.zeros(0)), "holds no samples"),
        (encode(np.array([0.0, np.nan]), subtype="FLOAT"), "samples that are not finite"),
    ],
    ids=["empty", "text", "header", "silent", "nan"],
)
def test_what_cannot_be_used_is_named(content, reason):
    with pytest.raises(RowError, match=reason):
        recordings.normalise_recording(content, FEATURE)


@pytest.fixture
def folder(tmp_path):
    """20 tones in each of two class folders, as WAV and FLAC files."""
    for number in range(40):
        name = ("low", "high")[number % 2]
        path = tmp_path / "tones" / name / f"{number}.{'wav' if number % 3 else 'flac'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        frequency_hz = (200.0, 2000.0)[number % 2] + number
        path.write_bytes(encode(tone(frequency_hz), "WAV" if number % 3 else "FLAC"))
    return tmp_path / "tones"


def config(folder):
    return data_factories.data_config(
        source={"kind": "audio_folder", "path": str(folder)},
        image=None,
        audio=FEATURE.to_dict(),
        label={"class_names": ["low", "high"]},
        splits={"validation_share": 0.2, "test_share": 0.2},
    )


def test_a_folder_of_recordings_is_ingested_whole(folder, tmp_path):
    dataset = ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")
    assert sum(split.num_rows for split in dataset.manifest.splits.values()) == 40
    assert dataset.manifest.origin == "audio folder tones"


def test_a_picture_among_the_recordings_is_rejected_by_name(folder, tmp_path):
    (folder / "low" / "cover.png").write_bytes(b"\x89PNG")
    with pytest.raises(DataError, match="low/cover.png: it is not a recording"):
        ingest.ingest(config(folder), seed=3, cache_dir=tmp_path / "cache")


def test_a_folder_of_recordings_is_no_source_of_images(folder):
    with pytest.raises(ValueError, match='kind = "audio_folder" needs the table data.audio'):
        data_factories.data_config(source={"kind": "audio_folder", "path": str(folder)})
