"""Checks which source files count as a step's code."""

import ast
import hashlib

import pytest

from pipeline.state import source_code, steps


@pytest.fixture
def project(tmp_path):
    for name, text in {
        "models/__init__.py": "",
        "models/cnn.py": "from models import blocks\nimport keras\n",
        "models/blocks.py": "from models.units import dense\n",
        "models/units/__init__.py": "dense = 1\n",
        "models/other.py": "",
        "components/__init__.py": "",
        "components/trainer/__init__.py": "",
        "components/trainer/loop.py": "def run():\n    import models.cnn\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_imports_are_followed_to_the_end_even_inside_functions(project):
    found = source_code.digests(["components.trainer"], project_dir=project)
    assert list(found) == [
        "components/trainer/__init__.py",
        "components/trainer/loop.py",
        "models/blocks.py",
        "models/cnn.py",
        "models/units/__init__.py",
    ]


def test_a_digest_is_that_of_the_bytes(project):
    found = source_code.digests(["models.other"], project_dir=project)
    assert found == {"models/other.py": hashlib.sha256(b"").hexdigest()}


def test_a_changed_file_has_another_digest(project):
    before = source_code.digests(["models.cnn"], project_dir=project)
    (project / "models/blocks.py").write_text("changed = True\n")
    after = source_code.digests(["models.cnn"], project_dir=project)
    assert {name for name in before if before[name] != after.get(name)} == {
        "models/blocks.py",
        "models/units/__init__.py",
    }


def test_an_unknown_root_is_refused(project):
    with pytest.raises(ValueError, match=r"Received: 'models\.none'"):
        source_code.digests(["models.none"], project_dir=project)


def test_extra_files_are_taken_without_their_imports(project):
    found = source_code.digests([], project_dir=project, extra_files=["models/cnn.py"])
    assert list(found) == ["models/cnn.py"]


@pytest.mark.parametrize("step", steps.STEPS, ids=lambda step: step.name)
def test_the_code_of_every_step_is_in_the_project(step):
    for name in source_code.digests(step.code):
        ast.parse((source_code.PROJECT_DIR / name).read_bytes())
