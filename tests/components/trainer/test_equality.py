"""N replicas equal one device, case by case; see equality_program.py."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tests.components.trainer import equality_program

_ROOT = pathlib.Path(__file__).parents[3]
_TIMEOUT_SECS = 400
_TOLERANCE = 1e-6
# float16 has 11 bits, and 20 steps add their roundings up.
_FLOAT16_TOLERANCE = 2e-3


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Returns a function from a replica count to the arrays that its process wrote."""
    directory = tmp_path_factory.mktemp("equality")
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    environment.pop("TF_CONFIG", None)
    cache = {}

    def arrays(num_replicas):
        if num_replicas not in cache:
            output = directory / f"{num_replicas}.npz"
            subprocess.run(
                [sys.executable, equality_program.__file__, str(num_replicas), str(output)],
                check=True,
                env=environment,
                timeout=_TIMEOUT_SECS,
            )
            cache[num_replicas] = np.load(output)
        return cache[num_replicas]

    return arrays


@pytest.mark.parametrize("case", equality_program.CASES)
@pytest.mark.parametrize("num_replicas", [2, 4])
def test_replicas_train_and_measure_as_one_device_does(weights, num_replicas, case):
    one, several = weights(1), weights(num_replicas)
    names = [name for name in one.files if name.startswith(f"{case}/")]
    assert any("/weight" in name for name in names)
    tolerance = _FLOAT16_TOLERANCE if "float16" in case else _TOLERANCE
    for name in names:
        np.testing.assert_allclose(several[name], one[name], rtol=tolerance, atol=tolerance)
