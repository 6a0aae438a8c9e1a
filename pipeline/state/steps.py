"""The table of steps: for each node of the DAG, what its result depends on.

It is the one place that says so. The DAG's node ids are these names; `fingerprints` turns the table
into digests; `kerasline explain` reads it to say why a step would run.
"""

import dataclasses

from components.transform.config import FITTED_INPUTS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """One node of the DAG.

    Attributes:
        name: The node's id.
        title: What the step does, in two or three words, for people.
        recipe_keys: Dotted recipe keys whose values the step reads; a key stands for all below it.
        run_keys: Keys of the run config that change the step's result.
        code: Dotted modules or packages that the step runs, with all they import from this project.
        upstream: Names of the steps whose results it reads, as far as the recipe has them.
        inputs: Kinds of input whose recipes have this step; empty if all have.
        reads_source: True if the step reads the bytes of the data source.
        has_artifacts: True if the step leaves files in ARTIFACTS/NAME.
    """

    name: str
    title: str
    recipe_keys: tuple[str, ...] = ()
    run_keys: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    upstream: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    reads_source: bool = False
    has_artifacts: bool = True


# Files that every step depends on, because they decide what is handed to it.
SHARED_CODE = ("pipeline/dag.py",)

STEPS: tuple[Step, ...] = (
    Step(
        name="ingest",
        title="Read the data",
        recipe_keys=("data", "seed"),
        code=("components.ingest",),
        reads_source=True,
    ),
    Step(
        name="schema",
        title="Derive the schema",
        recipe_keys=("data",),
        code=("components.schema",),
    ),
    Step(
        name="statistics",
        title="Describe the data",
        code=("components.statistics",),
        upstream=("ingest", "schema"),
    ),
    Step(name="validation", title="Look for anomalies", upstream=("statistics", "schema")),
    Step(
        name="validation_gate",
        title="Check the data",
        recipe_keys=("data.label",),
        code=("components.validation_gate",),
        upstream=("statistics", "validation"),
    ),
    Step(
        name="data_guard",
        title="Guard against leaks",
        recipe_keys=("data_guard",),
        code=("components.data_guard",),
        upstream=("ingest", "validation_gate"),
    ),
    Step(
        name="transform",
        title="Fit the preprocessing",
        recipe_keys=("data",),
        code=("components.transform",),
        upstream=("ingest", "data_guard"),
        inputs=FITTED_INPUTS,
    ),
    Step(
        name="trainer",
        title="Train the model",
        recipe_keys=("seed", "task", "data", "input", "model", "training"),
        run_keys=("strategy",),
        code=("components.trainer", "components.input_pipeline", "models", "serving.export"),
        upstream=("ingest", "schema", "data_guard", "transform"),
    ),
    Step(name="baseline", title="Find the last good model", has_artifacts=False),
    Step(
        name="reference",
        title="Fit a simple model",
        recipe_keys=("data",),
        code=("components.reference",),
        upstream=("ingest", "transform"),
        inputs=FITTED_INPUTS,
    ),
    Step(
        name="evaluator",
        title="Measure the model",
        recipe_keys=("data.label", "evaluation"),
        code=("components.evaluator",),
        upstream=("ingest", "trainer", "reference"),
    ),
    Step(
        name="report",
        title="Write the report",
        # The page shows the whole recipe.
        recipe_keys=(
            "schema_version",
            "name",
            "description",
            "task",
            "seed",
            "data",
            "data_guard",
            "input",
            "model",
            "training",
            "evaluation",
        ),
        code=("components.report",),
        upstream=("validation_gate", "data_guard", "trainer", "evaluator"),
    ),
    Step(
        name="evaluation_gate",
        title="Judge the model",
        recipe_keys=("data.label",),
        code=("components.evaluation_gate",),
        upstream=("evaluator",),
    ),
    Step(
        name="model_check",
        title="Serve it once",
        recipe_keys=("data",),
        code=("components.model_check",),
        upstream=("ingest", "trainer"),
    ),
    Step(
        name="publisher",
        title="Publish the model",
        recipe_keys=("name",),
        code=("components.publisher",),
        upstream=("trainer", "evaluation_gate", "model_check"),
    ),
)


def of(input_name: str) -> tuple[Step, ...]:
    """Returns the steps of a recipe whose input is of a kind, such as "image"."""
    return tuple(step for step in STEPS if not step.inputs or input_name in step.inputs)


BY_NAME: dict[str, Step] = {step.name: step for step in STEPS}
