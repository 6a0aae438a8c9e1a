"""`kerasline doctor`: what this machine and environment are, and what is wrong with them."""

import dataclasses
import json
from pathlib import Path

import click


@click.command("doctor", short_help="Check the environment and the machine.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Check the environment and the machine, and say what is wrong and what to do.

    The exit status is 1 if something is wrong.

    \b
    Example:
      kerasline doctor
      kerasline doctor --json
    """
    # Imported here: it needs packages that the other commands do not.
    from pipeline.environment import doctor

    report = doctor.examine(Path.cwd())
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(report), indent=2))
    else:
        _print(report.versions, report.machine)
        for problem in report.problems:
            click.echo(f"WRONG  {problem.what}\n       {problem.cure}")
        if not report.problems:
            click.echo("Nothing is wrong.")
    context.exit(1 if report.problems else 0)


def _print(*tables: dict[str, str]) -> None:
    for table in tables:
        for name, value in table.items():
            click.echo(f"{name:<28}{value}")
        click.echo()
