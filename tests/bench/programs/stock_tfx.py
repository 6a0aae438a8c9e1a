"""The stock TFX chain, ImportExampleGen to Pusher under LocalDagRunner, from TFX's public API.

Prints one JSON line like `bare_keras.py`. Arguments: folder of TFRecords (sub-folders `train`,
`eval` and `test`), output folder, settings JSON.
"""

import time

PROCESS_START = time.perf_counter()

import json  # noqa: E402
import pathlib  # noqa: E402
import sys  # noqa: E402

import tensorflow_model_analysis as tfma  # noqa: E402
from tfx import v1 as tfx  # noqa: E402

MODULE_FILE = str(pathlib.Path(__file__).with_name("stock_tfx_module.py"))


def _eval_config(min_accuracy: float) -> tfma.EvalConfig:
    threshold = tfma.MetricThreshold(
        value_threshold=tfma.GenericValueThreshold(lower_bound={"value": min_accuracy}),
        change_threshold=tfma.GenericChangeThreshold(
            direction=tfma.MetricDirection.HIGHER_IS_BETTER, absolute={"value": -0.01}
        ),
    )
    metric = tfma.MetricConfig(class_name="SparseCategoricalAccuracy", threshold=threshold)
    return tfma.EvalConfig(
        model_specs=[
            tfma.ModelSpec(
                signature_name="serving_default", prediction_key="probabilities", label_key="label"
            )
        ],
        slicing_specs=[tfma.SlicingSpec(), tfma.SlicingSpec(feature_keys=["label"])],
        metrics_specs=[
            tfma.MetricsSpec(metrics=[tfma.MetricConfig(class_name="ExampleCount"), metric])
        ],
    )


def create_pipeline(records: pathlib.Path, root: pathlib.Path, settings: dict) -> tfx.dsl.Pipeline:
    """Builds the chain as TFX's tutorials do."""
    splits = [
        tfx.proto.Input.Split(name=name, pattern=f"{name}/*") for name in ("train", "eval", "test")
    ]
    example_gen = tfx.components.ImportExampleGen(
        input_base=str(records), input_config=tfx.proto.Input(splits=splits)
    )
    examples = example_gen.outputs["examples"]
    statistics_gen = tfx.components.StatisticsGen(examples=examples)
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    schema = schema_gen.outputs["schema"]
    validator = tfx.components.ExampleValidator(
        statistics=statistics_gen.outputs["statistics"], schema=schema
    )
    transform = tfx.components.Transform(examples=examples, schema=schema, module_file=MODULE_FILE)
    trainer = tfx.components.Trainer(
        module_file=MODULE_FILE,
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        train_args=tfx.proto.TrainArgs(splits=["train"]),
        eval_args=tfx.proto.EvalArgs(splits=["eval"]),
        custom_config={"settings": json.dumps(settings)},
    )
    resolver = tfx.dsl.Resolver(
        strategy_class=tfx.dsl.experimental.LatestBlessedModelStrategy,
        model=tfx.dsl.Channel(type=tfx.types.standard_artifacts.Model),
        model_blessing=tfx.dsl.Channel(type=tfx.types.standard_artifacts.ModelBlessing),
    ).with_id("latest_blessed")
    evaluator = tfx.components.Evaluator(
        examples=examples,
        model=trainer.outputs["model"],
        baseline_model=resolver.outputs["model"],
        eval_config=_eval_config(settings["min_accuracy"]),
        example_splits=["test"],
    )
    pusher = tfx.components.Pusher(
        model=trainer.outputs["model"],
        model_blessing=evaluator.outputs["blessing"],
        push_destination=tfx.proto.PushDestination(
            filesystem=tfx.proto.PushDestination.Filesystem(base_directory=str(root / "pushed"))
        ),
    )
    nodes = [example_gen, statistics_gen, schema_gen, validator, transform, trainer, resolver]
    return tfx.dsl.Pipeline(
        pipeline_name="stock",
        pipeline_root=str(root / "artifacts"),
        components=[*nodes, evaluator, pusher],
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            str(root / "metadata.sqlite")
        ),
    )


def main() -> None:
    """Runs the chain and reports its seconds and whether a model was pushed."""
    records, root, settings = (
        pathlib.Path(sys.argv[1]),
        pathlib.Path(sys.argv[2]),
        json.loads(sys.argv[3]),
    )
    root.mkdir(parents=True, exist_ok=True)
    settings["fit_secs_file"] = str(root / "fit_secs")
    tfx.orchestration.LocalDagRunner().run(create_pipeline(records, root, settings))
    print(
        json.dumps(
            {
                "total_secs": time.perf_counter() - PROCESS_START,
                "fit_secs": float((root / "fit_secs").read_text()),
                "pushed": (root / "pushed").is_dir() and any((root / "pushed").iterdir()),
            }
        )
    )


if __name__ == "__main__":
    main()
