"""A SavedModel that nobody here made: the pitch model of the package basic-pitch, over both APIs.

It is fetched by hand (see CONTRIBUTING.md), since its package wants another TensorFlow.
"""

import os
import pathlib

import numpy as np
import pytest

from serving.client import client
from tests.serving import harness

_FOLDER_VARIABLE = "BASIC_PITCH_DIR"
_SAMPLE_RATE_HZ = 22050
_NUM_SAMPLES = 43844
_LOWEST_NOTE = 21  # The first of the model's 88 notes, as MIDI counts them.
_A4_HZ, _A4_NOTE = 440.0, 69

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        _FOLDER_VARIABLE not in os.environ,
        reason=f"{_FOLDER_VARIABLE} does not name a folder with basic-pitch in it",
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("pitch")
    package = pathlib.Path(os.environ[_FOLDER_VARIABLE], "basic_pitch")
    (base / "1").symlink_to(package / "saved_models" / "icassp_2022" / "nmp")
    with harness.serve(model_name="pitch", model_base_path=str(base)) as running:
        yield running


@pytest.mark.parametrize("scheme", ["grpc", "http"])
@pytest.mark.parametrize("octave", [-1, 0, 1])
def test_a_sine_is_heard_as_its_note(server, scheme, octave):
    seconds_T = np.arange(_NUM_SAMPLES) / _SAMPLE_RATE_HZ
    sine_T = np.sin(2 * np.pi * _A4_HZ * 2.0**octave * seconds_T).astype(np.float32)
    port = server.app.grpc_port if scheme == "grpc" else server.app.rest_port
    with client.Client(f"{scheme}://127.0.0.1:{port}", "pitch") as pitch:
        notes_BTN = pitch.predict(sine_T[None, :, None])["note"]
    assert _LOWEST_NOTE + notes_BTN.mean((0, 1)).argmax() == _A4_NOTE + 12 * octave
