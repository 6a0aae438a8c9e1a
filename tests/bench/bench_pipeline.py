"""`kerasline run` against a stock TFX chain and a bare script: same data, model, batch, steps.

The three run as whole processes, in turn, `--rounds` times; every run starts with an empty cache
and an empty root. Medians and ratios are printed as a Markdown table and as JSON.

    .venv/bin/python -m tests.bench.bench_pipeline --idx-folder /usr/share/datasets/fashion-mnist
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from tests.bench import machine
from tests.bench.programs import idx_files

REPOSITORY = pathlib.Path(__file__).parents[2]
SETTINGS = {
    "model": {"architecture": "cnn"},
    "num_epochs": 2,
    "global_batch_size": 128,
    "learning_rate": 1e-3,
    "validation_share": 0.1,
    "min_accuracy": 0.5,
}
# The recipe, less what the two baselines do not do: no augmentation, thresholds that two epochs can
# meet, and the same optimizer settings.
OVERRIDES = {
    "model": '{architecture = "cnn"}',
    "input.augment": "{}",
    "training.num_epochs": SETTINGS["num_epochs"],
    "training.global_batch_size": SETTINGS["global_batch_size"],
    "training.optimizer.learning_rate": SETTINGS["learning_rate"],
    "training.optimizer.weight_decay": 0.004,
    "training.schedule.name": "constant",
    # Chosen by hand, so that no seconds go into measuring what suits this machine.
    "training.steps_per_execution": 32,
    "training.jit_compile": "false",
    "evaluation.min_accuracy": SETTINGS["min_accuracy"],
    "evaluation.min_class_accuracy": 0.0,
}


def write_stock_records(idx_folder: pathlib.Path, records: pathlib.Path) -> None:
    """Writes the data as PNG tf.Examples, the form that ImportExampleGen takes; not timed."""
    import tensorflow as tf

    images_BHW1, labels_B = idx_files.read_split(idx_folder, "train")
    num_validation = int(len(labels_B) * SETTINGS["validation_share"])
    splits = {
        "train": (images_BHW1[num_validation:], labels_B[num_validation:]),
        "eval": (images_BHW1[:num_validation], labels_B[:num_validation]),
        "test": idx_files.read_split(idx_folder, "test"),
    }
    for name, (split_images_BHW1, split_labels_B) in splits.items():
        (records / name).mkdir(parents=True)
        with tf.io.TFRecordWriter(str(records / name / "data.tfrecord")) as writer:
            for image_HW1, label in zip(split_images_BHW1, split_labels_B, strict=True):
                png = tf.io.encode_png(image_HW1).numpy()
                features = {
                    "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=features))
                writer.write(example.SerializeToString())


def _run(command: list[str], environment: dict[str, str], log: pathlib.Path) -> tuple[dict, float]:
    """Runs `command` to its end; returns its last JSON line and its wall seconds."""
    start = time.perf_counter()
    with log.open("w") as file:
        process = subprocess.run(
            command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=file, text=True
        )
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:4])} ended with {process.returncode}; see {log}.")
    # The programs print one line of JSON last; `kerasline run --json` prints one object on many.
    text = process.stdout
    return json.loads(text[text.rindex("\n{") if "\n{" in text else 0 :]), seconds


def time_program(name: str, idx_folder: pathlib.Path, records: pathlib.Path) -> dict[str, float]:
    """Runs one of `bare`, `stock`, `kerasline` afresh; returns its wall and fit seconds."""
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"bench_{name}_"))
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "XDG_CACHE_HOME": str(work / "cache")}
    programs = "tests.bench.programs"
    commands = {
        "bare": ["-m", f"{programs}.bare_keras", str(idx_folder), str(work), json.dumps(SETTINGS)],
        "stock": [
            "-m",
            f"{programs}.stock_tfx",
            str(records),
            str(work / "root"),
            json.dumps(SETTINGS),
        ],
        "kerasline": ["-m", "pipeline.cli.main", "run", "fashion_mnist", "--json", "--force"]
        + ["--root", str(work / "root"), "--set", f"data.source.data_dir={idx_folder}"]
        + [word for key, value in OVERRIDES.items() for word in ("--set", f"{key}={value}")],
    }
    result, wall_secs = _run([sys.executable, *commands[name]], environment, work / "log.txt")
    fit_secs = _fit_secs(work / "root") if name == "kerasline" else result["fit_secs"]
    return {"wall": wall_secs, "fit": fit_secs, "rest": wall_secs - fit_secs}


def _fit_secs(root: pathlib.Path) -> float:
    """Sums the epochs, with their validation and the tracing in the first, as `fit` counts them."""
    (history,) = root.glob("fashion_mnist/artifacts/trainer/model_run/*/history.json")
    return sum(epoch["seconds"] for epoch in json.loads(history.read_text())["epochs"])


def table(medians: dict[str, dict[str, float]]) -> str:
    """Returns the Markdown table of medians and of Kerasline's ratio to each baseline."""
    lines = ["| seconds | kerasline | stock TFX | bare script | of stock TFX | of bare |"]
    lines.append("|---|---|---|---|---|---|")
    for part, words in (("wall", "the whole"), ("fit", "`fit`"), ("rest", "everything but `fit`")):
        ours, stock, bare = (medians[name][part] for name in ("kerasline", "stock", "bare"))
        lines.append(
            f"| {words} | {ours:.1f} | {stock:.1f} | {bare:.1f} "
            f"| {ours / stock:.2f}x | {ours / bare:.2f}x |"
        )
    return "\n".join(lines)


def main() -> None:
    """Parses the arguments, runs the rounds and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idx-folder", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    records = pathlib.Path(tempfile.mkdtemp(prefix="bench_records_"))
    write_stock_records(arguments.idx_folder, records)
    timings: dict[str, list[dict[str, float]]] = {"kerasline": [], "stock": [], "bare": []}
    for round_index in range(arguments.rounds):
        for name, rows in timings.items():
            rows.append(time_program(name, arguments.idx_folder, records))
            print(f"round {round_index + 1}, {name}: {rows[-1]}", file=sys.stderr, flush=True)
    medians = {
        name: {part: statistics.median(row[part] for row in rows) for part in rows[0]}
        for name, rows in timings.items()
    }
    print(machine.describe())
    print(table(medians))
    print(json.dumps({"rounds": arguments.rounds, "timings": timings}))


if __name__ == "__main__":
    main()
