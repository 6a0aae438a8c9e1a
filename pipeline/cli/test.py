"""`kerasline test`: runs Kerasline's own tests."""

import os
import sys
from pathlib import Path

import click

_ROOT = Path(__file__).parents[2]
# Tests of a file share what they set up. A process with TensorFlow needs up to 3 GiB, hence four.
_PARALLEL = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")


@click.command(
    "test",
    short_help="Run Kerasline's own tests.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
def command(pytest_arguments: tuple[str, ...]) -> None:
    """Run Kerasline's own tests; arguments go to pytest, paths are from the repository's root.

    Without arguments the tests run on all processors, on four at most; with them in one process,
    unless pytest-xdist's `-n` is among them.

    \b
    Example:
      kerasline test                       everything but the slow ones and the benchmarks
      kerasline test tests/models -k cnn   some
      kerasline test -m slow               the slow ones
    """
    if not (_ROOT / "tests").is_dir():
        raise click.ClickException(
            f"expected the repository's folder `tests` beside the code. Received: {_ROOT}. "
            "Run ./kerasline test in a clone of the repository."
        )
    os.chdir(_ROOT)
    # The launcher's word for itself, which the tests must not find in what they print.
    os.environ.pop("KERASLINE_PROGRAM", None)
    pytest_arguments = pytest_arguments or _PARALLEL
    arguments = [sys.executable, "-P", "-m", "pytest", *pytest_arguments]
    os.execv(sys.executable, arguments)
