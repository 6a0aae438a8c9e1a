"""`kerasline serve`: answers REST and gRPC requests with published models."""

import asyncio
import logging
import os
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pydantic

from pipeline.cli import group, options
from serving.server import config, flags


def _add_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds one option for each field of ServerConfig, under TF Serving's own name."""
    for name, text in reversed(flags.HELP.items()):
        kind = config.ServerConfig.model_fields[name].annotation
        is_switch = bool in (kind, *typing.get_args(kind))
        # `--flag`, `--flag=true` and `--flag=false` are all TF Serving's.
        extra: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if is_switch else {}
        command = click.option(f"--{name}", name, help=text, **extra)(command)
    return command


class _ServeCommand(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            name = word.partition("=")[0].removeprefix("--")
            if word.startswith("--") and name in flags.UNSUPPORTED:
                raise group.BadInputError(
                    f"TF Serving's flag --{name} is not supported: {flags.UNSUPPORTED[name]}."
                )
        return super().parse_args(ctx, args)


@click.command(
    "serve", cls=_ServeCommand, short_help="Answer REST and gRPC requests with published models."
)
@click.argument("recipe_name", metavar="[RECIPE]", required=False)
@options.root
@_add_flags
def command(recipe_name: str | None, root: str, **values: str | None) -> None:
    """Answer requests in TF Serving's protocols, until SIGTERM or Ctrl-C.

    Without --model_base_path or --model_config_file it serves the published models of RECIPE, or of
    the recipe that was published last; newer versions replace older ones as they appear.

    \b
    Example:
      kerasline serve
      kerasline serve digits --rest_api_port=9000
      kerasline serve --model_name=m --model_base_path=/models/m --port=8500
      curl http://127.0.0.1:8501/v1/models/fashion_mnist
    """
    given = {name: value for name, value in values.items() if value is not None}
    if "model_base_path" not in given and "model_config_file" not in given:
        published = _published_folder(Path(root), recipe_name)
        given["model_base_path"] = str(published)
        given.setdefault("model_name", published.parent.name)
    elif recipe_name is not None:
        raise group.BadInputError(
            "RECIPE and a model flag name two things to serve. "
            f"Received: RECIPE={recipe_name!r}. Leave one of them out."
        )
    _serve(_make_config(given))


def _published_folder(root: Path, recipe_name: str | None) -> Path:
    """Returns the folder of published versions to serve: the named recipe's, or the newest."""
    folders = root.glob(f"{recipe_name or '*'}/published")
    newest = {
        folder: max(version.stat().st_mtime_ns for version in versions)
        for folder in folders
        if (versions := [each for each in folder.iterdir() if each.name.isdigit()])
    }
    if not newest:
        wanted = f"of recipe {recipe_name!r} " if recipe_name else ""
        raise group.BadInputError(
            f"No published model {wanted}was found. Received: root={str(root)!r}. "
            f"Run `kerasline run{' ' + recipe_name if recipe_name else ''}` first, or name a "
            f"folder "
            "with --model_base_path."
        )
    return max(newest, key=lambda folder: newest[folder])


def _make_config(values: dict[str, str]) -> config.ServerConfig:
    try:
        return config.ServerConfig.model_validate_strings(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = f"--{first['loc'][0]}: " if first["loc"] else ""
        received = f" Received: {first['input']!r}." if first["loc"] else ""
        reason = first["msg"].removeprefix("Value error, ")
        raise group.BadInputError(f"{place}{reason.rstrip('.')}.{received}") from None


def _describe_models(versions: Mapping[str, Sequence[int]]) -> str:
    """Returns the models and their versions in words.

    >>> _describe_models({"digits": [3], "taxi": [1, 2], "voices": []})
    'digits version 3, taxi versions 1 and 2, voices without a version'
    """
    described = []
    for name, numbers in versions.items():
        if not numbers:
            described.append(f"{name} without a version")
            continue
        listed = " and ".join(str(number) for number in numbers)
        described.append(f"{name} version{'s' if len(numbers) > 1 else ''} {listed}")
    return ", ".join(described) or "no model"


def _serve(settings: config.ServerConfig) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("kerasline").setLevel(logging.INFO)
    # It warns of the v1 loader, which is used for its speed.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # Imported here: the command line answers `--help` without TensorFlow, and the server must
    # import it in its own way, before anything else does.
    from serving.server import tensorflow_import

    with tensorflow_import.quiet():
        tensorflow_import.import_tensorflow()
        import tensorflow as tf

        # Looks for GPUs now, and not while it can be heard.
        tf.config.list_physical_devices()
    from serving.server import app, errors

    def announce(server: "app.Server") -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        click.echo(
            f"Ready: {_describe_models(server.available_versions())}. "
            f"REST and a page at http://{host}:{server.rest_port}/, "
            f"gRPC at {host}:{server.grpc_port}"
        )

    try:
        asyncio.run(app.serve(settings, announce))
    except (ValueError, errors.ServingError) as error:
        raise group.BadInputError(str(error)) from None
    except app.ListenError as error:
        raise click.ClickException(str(error)) from None
