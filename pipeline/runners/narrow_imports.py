"""Makes imports load what a run uses and nothing more.

Three packages import all they hold from their `__init__`: `tfx.components` every TFX component,
`tensorflow_model_analysis` its notebook viewers, `tensorflow_data_validation` its plots. Keras,
TFMA and Beam also import scikit-learn, pandas, Matplotlib and IPython wherever these are installed,
although a run calls none of them. Together that is half of the time that a run would spend on
imports.

After `install`, those packages import *late*: `import name` makes the module from its own spec, but
the module's code runs only when somebody asks for a name that it does not have yet. Every name
therefore means the very same object as without this, and the submodules of a late package import
without its `__init__`.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

_TFMA_CONFIG = "tensorflow_model_analysis.proto.config_pb2"

# Name of a late module -> names to answer before its code runs, with the modules that define them.
# The names of `tensorflow_model_analysis` are those that `tfx.components.__init__` gives back to
# TFMA 0.52.
LATE_MODULES: Mapping[str, Mapping[str, str]] = {
    "tfx.components": {},
    "tensorflow_model_analysis": dict.fromkeys(
        (
            "EvalConfig",
            "GenericChangeThreshold",
            "GenericValueThreshold",
            "MetricConfig",
            "MetricDirection",
            "MetricThreshold",
            "MetricsSpec",
            "ModelSpec",
            "SlicingSpec",
        ),
        _TFMA_CONFIG,
    ),
    "tensorflow_data_validation": {
        "StatsOptions": "tensorflow_data_validation.statistics.stats_options"
    },
    "keras.wrappers": {},
    "keras.visualization": {},
    "keras.src.visualization": {},
    "pandas": {},
    "IPython": {},
    "tqdm.notebook": {},
}

# Late module -> what its `__init__` would have imported before the submodules that rely on it.
_PREREQUISITES = {"tensorflow_model_analysis": "google.protobuf.wrappers_pb2"}


class _LateModule(types.ModuleType):
    """A module whose code has not run; afterwards its class is plain `ModuleType`."""

    def __getattr__(self, name: str) -> Any:
        early_names = vars(self)["__loader__"].early_names
        if name in early_names:
            return getattr(importlib.import_module(early_names[name]), name)
        # `inspect` and the like probe every module in `sys.modules` for dunder names.
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if "__path__" in vars(self) and _is_submodule(self, name):
            return importlib.import_module(f"{self.__name__}.{name}")
        load(self.__name__)
        # Not `getattr`: while this thread runs the module's code, a missing name is missing.
        return types.ModuleType.__getattribute__(self, name)


def _is_submodule(package: types.ModuleType, name: str) -> bool:
    full_name = f"{package.__name__}.{name}"
    return importlib.machinery.PathFinder.find_spec(full_name, package.__path__) is not None


class _LateLoader(importlib.abc.Loader):
    """Hands out one module object: without its code at the first import, with it at the second."""

    def __init__(self, loader: importlib.abc.Loader, early_names: Mapping[str, str]):
        self._loader = loader
        self._module: types.ModuleType | None = None
        self.early_names = early_names

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        if self._module is None:
            return _LateModule(spec.name)
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        if self._module is None:
            self._module = module
            if module.__name__ in _PREREQUISITES:
                importlib.import_module(_PREREQUISITES[module.__name__])
            return
        self._loader.exec_module(module)
        for name, source in self.early_names.items():
            if name not in vars(module):
                setattr(module, name, getattr(importlib.import_module(source), name))
        module.__class__ = types.ModuleType

    def __getattr__(self, name: str) -> Any:
        # What else a loader offers: `get_source` for tracebacks, `get_resource_reader` and so on.
        return getattr(self._loader, name)


class _LateFinder(importlib.abc.MetaPathFinder):
    """Finds the late modules, each through one loader that it remembers."""

    def __init__(self, late_modules: Mapping[str, Mapping[str, str]]):
        self.late_modules = late_modules
        self._specs: dict[str, importlib.machinery.ModuleSpec] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.late_modules:
            return None
        if fullname not in self._specs:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is None or spec.loader is None:
                return spec
            spec.loader = _LateLoader(spec.loader, self.late_modules[fullname])
            self._specs[fullname] = spec
        return self._specs[fullname]


def install(late_modules: Mapping[str, Mapping[str, str]] = LATE_MODULES) -> None:
    """Makes modules late, except those that are imported already; a second call changes nothing.

    Args:
        late_modules: Their names, each with the names to answer before its code runs.
    """
    installed = [finder for finder in sys.meta_path if isinstance(finder, _LateFinder)]
    if not any(finder.late_modules is late_modules for finder in installed):
        sys.meta_path.insert(0, _LateFinder(late_modules))


def load(name: str) -> types.ModuleType:
    """Imports a module and runs its code now, late or not; safe to call from several threads.

    The code runs inside an ordinary import of `name`, so that other threads wait for it as for any.
    """
    module = importlib.import_module(name)
    if isinstance(module, _LateModule) and not getattr(module.__spec__, "_initializing", False):
        sys.modules.pop(name, None)
    return importlib.import_module(name)
