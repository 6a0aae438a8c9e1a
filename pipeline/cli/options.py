"""Arguments and options that several commands share."""

import os
import re
from collections.abc import Callable
from typing import Any

import click

from components.trainer.trackers import names
from pipeline import config, config_errors, config_keys, recipe_files
from pipeline.cli import group
from pipeline.config import Recipe, RunConfig

DEFAULT_ROOT = "runs"


def program() -> str:
    """Returns the word that starts Kerasline, as the launcher was called; for commands to copy."""
    return os.environ.get("KERASLINE_PROGRAM", "kerasline")


def recipe(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the argument RECIPE and the option --set."""
    command = click.option(
        "--set",
        "set_values",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change one key of the recipe, such as training.num_epochs=3. Repeatable.",
    )(command)
    return click.argument("recipe_name", metavar="[RECIPE]", default=recipe_files.DEFAULT_RECIPE)(
        command
    )


def root(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --root."""
    return click.option(
        "--root",
        default=DEFAULT_ROOT,
        show_default=True,
        type=click.Path(file_okay=False),
        help="Folder that holds the runs and the published models.",
    )(command)


def strategy(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --strategy."""
    return click.option(
        "--strategy",
        type=click.Choice(config_keys.choices(RunConfig.model_fields["strategy"].annotation)),
        default="auto",
        show_default=True,
        help="How training is spread over devices.",
    )(command)


def data_service(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --data-service."""
    return click.option(
        "--data-service",
        metavar="HOST:PORT|local:N",
        callback=_check_data_service,
        help="Let a tf.data service make the training batches: its dispatcher, or N processes.",
    )(command)


def beam_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--beam-option`, an argument of Apache Beam."""
    return click.option(
        "--beam-option",
        "beam_options",
        multiple=True,
        metavar="OPTION",
        help="An argument of Apache Beam, such as --beam-option=--runner=FlinkRunner, which then "
        "reads the data, counts it and evaluates. Repeatable.",
    )(command)


def trackers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --track."""
    return click.option(
        "--track",
        "trackers",
        multiple=True,
        type=click.Choice(names.TRACKERS),
        help="Record the training there as well. Repeatable. Address and key come from the "
        "tracker's own environment variables.",
    )(command)


def _check_data_service(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    if value is not None and not re.match(config.DATA_SERVICE, value):
        raise group.BadInputError(
            "--data-service must be the HOST:PORT of a dispatcher, or local:N. "
            f"Received: --data-service={value}."
        )
    return value


def load_recipe(recipe_name: str, set_values: tuple[str, ...]) -> Recipe:
    """Loads a recipe for a command.

    Raises:
        BadInputError: If the recipe or an override is wrong.
    """
    try:
        return recipe_files.load(recipe_name, set_values)
    except config_errors.ConfigError as error:
        raise group.BadInputError(str(error)) from None


def load_run_config(
    recipe_name: str, recipe: Recipe, **values: str | int | list[str] | None
) -> RunConfig:
    """Makes a command's RunConfig, and checks that the recipe can run there.

    Args:
        recipe_name: A shipped name or a path, for the error.
        recipe: What will run.
        values: Fields of RunConfig.

    Raises:
        BadInputError: If recipe and RunConfig contradict each other, or a tracker is not installed.
    """
    run_config = RunConfig.from_dict(values)
    try:
        config.check_run(recipe, run_config)
        names.check_installed(run_config.trackers)
    except ValueError as error:
        raise group.BadInputError(f"recipe {recipe_name}: {error}") from None
    return run_config
