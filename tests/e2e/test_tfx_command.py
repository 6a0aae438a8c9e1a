"""TFX's own command runs the shipped file."""

import os
import pathlib
import subprocess
import sys

import pytest

from components.publisher import publish

_PROJECT_DIR = pathlib.Path(__file__).parents[2]
_TIMEOUT_SECS = 800


@pytest.mark.slow  # Each call of `tfx` imports all of TFX: together more than a minute.
def test_tfx_creates_lists_and_runs_the_pipeline(tmp_path, cache_home):
    bin_dir = pathlib.Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}",
        "LOCAL_HOME": str(tmp_path / "tfx_home"),
        "KERASLINE_RECIPE": "digits",
        "KERASLINE_ROOT": str(tmp_path / "runs"),
        "XDG_CACHE_HOME": str(cache_home),
    }

    def tfx(*words):
        finished = subprocess.run(
            [bin_dir / "tfx", *words, "--engine", "local"],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECS,
            check=False,
            cwd=_PROJECT_DIR,
            env=environment,
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    created = tfx("pipeline", "create", "--pipeline_path", "pipeline/local_runner.py")
    assert 'Pipeline "digits" created successfully.' in created
    assert "digits" in tfx("pipeline", "list")
    tfx("run", "create", "--pipeline_name", "digits")
    assert publish.versions(tmp_path / "runs" / "digits" / "published") == [1]
