"""The file for the `tfx` command with `--engine local`: runs a recipe on this machine.

    tfx pipeline create --engine local --pipeline_path pipeline/local_runner.py
    tfx run create --engine local --pipeline_name fashion_mnist

Environment variables choose another recipe and another place: `KERASLINE_RECIPE` (a shipped name or
the path of a TOML file; fashion_mnist if not set) and `KERASLINE_ROOT` (`runs`).
"""

import os
import pathlib
import sys

_PROJECT_DIR = str(pathlib.Path(__file__).resolve().parent.parent)


def main() -> None:
    """Runs the recipe, or hands it to the `tfx` command if that runs this file."""
    # `tfx` and `python` put this file's folder first, where modules hide others of their name.
    sys.path[:] = [_PROJECT_DIR, *(path for path in sys.path if path != _PROJECT_DIR)]

    from pipeline.runners import narrow_imports

    narrow_imports.install()
    from pipeline import dag, recipe_files
    from pipeline.config import RunConfig
    from pipeline.runners import local
    from pipeline.state import assess, workspace

    recipe = recipe_files.load(os.environ.get("KERASLINE_RECIPE", recipe_files.DEFAULT_RECIPE))
    root = pathlib.Path(os.environ.get("KERASLINE_ROOT", "runs")).absolute()
    run = RunConfig(root=str(root))
    place = workspace.Workspace(root, recipe.name)
    digests = {
        step: fingerprint.digest
        for step, fingerprint in assess.assess(recipe, run, place).fingerprints.items()
    }
    local.LocalRunner().run(dag.create_pipeline(recipe, run, fingerprints=digests))


if __name__ == "__main__":
    main()
