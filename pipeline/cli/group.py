"""A click group that imports a command when it is called, and prints one sentence per error."""

import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence

import click

from pipeline import version

_INTRODUCTION = """Turns a dataset and one recipe into a trained, gated, published Keras 3 model.

\b
  kerasline run                 Fashion-MNIST, from the data to a published model
  kerasline run digits          the same chain on small images, in seconds
  kerasline COMMAND --help      what a command does, with an example
"""


class BadInputError(click.ClickException):
    """Ends a command with one sentence and exit status 2, before any work."""

    exit_code = 2


class LazyGroup(click.Group):
    """A group over a table: name -> (module, help line)."""

    def __init__(self, table: Mapping[str, tuple[str, str]]):
        super().__init__(
            "kerasline",
            help=_INTRODUCTION,
            invoke_without_command=True,
            callback=_show_help_without_command,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        )
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of the commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command's module."""
        if cmd_name not in self.table:
            return None
        command: click.Command = importlib.import_module(self.table[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command, or names the nearest one."""
        if args[0] not in self.table and not args[0].startswith("-"):
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.table, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])


def invoke(table: Mapping[str, tuple[str, str]], arguments: Sequence[str] | None) -> int:
    """Parses the arguments, runs the command and returns its exit status.

    Args:
        table: Name -> (module, help line).
        arguments: Words after `kerasline`; `sys.argv[1:]` by default.
    """
    root = LazyGroup(table)
    root = click.version_option(version.VERSION, message="kerasline %(version)s")(root)
    words = None if arguments is None else list(arguments)
    try:
        status = root.main(args=words, prog_name="kerasline", standalone_mode=False)
        return int(status or 0)
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.message)
        return 0
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "kerasline"
        fault = error.format_message().rstrip(".")
        click.echo(f"{where}: {fault}. See `{where} --help`.", err=True)
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"kerasline: {error.format_message()}", err=True)
        return error.exit_code
    except OSError as error:
        return _report_os_error(error)


def _report_os_error(error: OSError) -> int:
    if error.errno == errno.EPIPE:
        # The reader, such as `head`, has gone. Python flushes on exit, so give it a place to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    place = f": {error.filename}" if error.filename else ""
    click.echo(f"kerasline: {error.strerror or error}{place}.", err=True)
    return 1


@click.pass_context
def _show_help_without_command(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
