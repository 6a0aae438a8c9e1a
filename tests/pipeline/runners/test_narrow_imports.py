"""A late module is the real module, later."""

import builtins
import importlib
import json
import os
import subprocess
import sys
import threading

import pytest

from pipeline.runners import narrow_imports

_PACKAGE_CODE = """
import builtins, time
builtins.runs_of_late_package = getattr(builtins, "runs_of_late_package", 0) + 1
time.sleep({seconds})
from {name}.part import Thing
def greet():
    return "hello"
"""


@pytest.fixture
def late_package(tmp_path, monkeypatch):
    """Makes a package late; gives its name and a function that counts how often its code ran."""
    name = f"late_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(_PACKAGE_CODE.format(name=name, seconds=0.05))
    (folder / "part.py").write_text("class Thing: pass\nEARLY = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    narrow_imports.install({name: {"EARLY": f"{name}.part"}})
    builtins.runs_of_late_package = 0
    yield name, lambda: builtins.runs_of_late_package
    sys.meta_path[:] = before
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        del sys.modules[module]


def test_importing_does_not_run_the_code(late_package):
    name, num_runs = late_package
    importlib.import_module(name)
    assert num_runs() == 0


def test_a_submodule_imports_without_the_package_code(late_package):
    name, num_runs = late_package
    assert importlib.import_module(f"{name}.part").Thing.__name__ == "Thing"
    assert num_runs() == 0


def test_an_early_name_is_the_same_object_before_and_after(late_package):
    name, num_runs = late_package
    module = importlib.import_module(name)
    early = module.EARLY
    assert num_runs() == 0
    narrow_imports.load(name)
    assert module.EARLY is early


def test_a_missing_name_runs_the_code_once(late_package):
    name, num_runs = late_package
    module = importlib.import_module(name)
    assert module.greet() == "hello"
    assert module.Thing is importlib.import_module(f"{name}.part").Thing
    assert num_runs() == 1


def test_the_module_object_stays_the_same(late_package):
    name, _ = late_package
    module = importlib.import_module(name)
    assert narrow_imports.load(name) is module
    assert importlib.import_module(name) is module


def test_a_name_that_the_module_lacks_is_an_error(late_package):
    name, _ = late_package
    module = importlib.import_module(name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def test_probing_dunder_names_does_not_run_the_code(late_package):
    name, num_runs = late_package
    assert not hasattr(importlib.import_module(name), "__wrapped__")
    assert num_runs() == 0


def test_threads_that_ask_at_once_run_the_code_once(late_package):
    name, num_runs = late_package
    module = importlib.import_module(name)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(module.greet())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["hello"] * 8
    assert num_runs() == 1


_LIST_NAMES = """
import importlib, json, sys, types
if sys.argv[1] == "narrow":
    from pipeline.runners import narrow_imports
    narrow_imports.install()
    # What the DAG needs comes first, as in a run.
    import pipeline.dag
else:
    import tfx.components
names = {}
for package in sys.argv[2:]:
    module = importlib.import_module(package)
    if sys.argv[1] == "narrow":
        narrow_imports.load(package)
    names[package] = {
        name: f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
        for name, value in vars(module).items()
        if isinstance(value, type) or callable(value)
    }
print(json.dumps(names))
"""


def _names(mode, packages):
    finished = subprocess.run(
        [sys.executable, "-c", _LIST_NAMES, mode, *packages],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    return json.loads(finished.stdout.splitlines()[-1])


@pytest.mark.slow  # Two processes that import all of TFX: over a minute.
def test_the_packages_offer_the_same_names_as_without():
    packages = ["tfx.components", "tensorflow_model_analysis", "tensorflow_data_validation"]
    assert _names("narrow", packages) == _names("stock", packages)
