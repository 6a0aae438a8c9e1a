"""`kerasline test` hands over to pytest."""

import subprocess
import sys

from pipeline.cli import main
from pipeline.cli import test as test_command


def kerasline(*words, cwd):
    command = [sys.executable, "-P", "-m", "pipeline.cli.main", *words]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_arguments_go_to_pytest_from_any_folder(tmp_path):
    done = kerasline("test", "--collect-only", "-q", "tests/test_no_tf_keras.py", cwd=tmp_path)
    assert done.returncode == 0
    assert "tests/test_no_tf_keras.py::test_no_file_names_the_older_keras" in done.stdout


def test_the_exit_status_is_pytests_own(tmp_path):
    no_tests_collected = 5
    done = kerasline("test", "tests/test_no_tf_keras.py", "-k", "no_such_test", cwd=tmp_path)
    assert done.returncode == no_tests_collected


def test_an_installation_without_the_repository_is_told_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(test_command, "_ROOT", tmp_path)
    assert main.main(["test"]) == 1
    assert "expected the repository's folder `tests` beside the code" in capsys.readouterr().err
