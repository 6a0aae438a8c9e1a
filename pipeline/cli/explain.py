"""`kerasline explain`: says for each step why it would run or not."""

import json

import click

from components.ingest import errors
from pipeline.cli import group, options
from pipeline.state import assess, workspace


@click.command("explain", short_help="Say for each step why it would run or not.")
@options.recipe
@options.root
@options.strategy
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    recipe_name: str, set_values: tuple[str, ...], root: str, strategy: str, as_json: bool
) -> None:
    """Say for each step why it would run or not.

    Compares what each step depends on (recipe, code, packages, environment, data, the steps before
    it) with the last published run of the recipe under --root. Nothing runs and nothing is written.

    \b
    Example:
      kerasline explain digits --set training.num_epochs=30
    """
    recipe = options.load_recipe(recipe_name, set_values)
    run_config = options.load_run_config(recipe_name, recipe, root=root, strategy=strategy)
    place = workspace.Workspace(root, recipe.name)
    try:
        assessment = assess.assess(recipe, run_config, place)
    except errors.DataError as error:
        raise group.BadInputError(f"recipe {recipe_name}: {error}") from None
    click.echo(_as_json(assessment) if as_json else _as_text(assessment))


def _as_json(assessment: assess.Assessment) -> str:
    return json.dumps(
        {
            "up_to_date": assessment.up_to_date,
            "compared_with": assessment.last.run_id if assessment.last else None,
            "damage": assessment.damage,
            "steps": {plan.step.name: list(plan.reasons) for plan in assessment.plans},
        },
        indent=2,
    )


def _as_text(assessment: assess.Assessment) -> str:
    last = assessment.last
    lines = [f"Compared with run {last.run_id}." if last else "There is no published run yet."]
    for plan in assessment.plans:
        name = f"{plan.step.name:<16}"
        if not plan.would_run:
            lines.append(f"  {name} unchanged")
        for reason in plan.reasons:
            lines.append(f"  {name} would run: {reason}")
            name = " " * 16
    lines += [f"The whole would run: {fault}." for fault in assessment.damage]
    if assessment.up_to_date:
        lines.append("Nothing would run.")
    return "\n".join(lines)
