"""The data's way into training: ingest, chains and augmentation, each against a named baseline.

Every program runs in a process of its own, the baselines in turn with ours. Prints Markdown tables.

    .venv/bin/python -m tests.bench.bench_input
"""

import argparse
import pathlib
import statistics
import tempfile

import tensorflow as tf

from components.ingest import example, png
from tests.bench import csv_tables, machine
from tests.bench.process import run_program
from tests.components import data_factories

NUM_ROWS = 70_000
SCALES = (10_000, 100_000, 1_000_000)


def _new_folder() -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix="bench_input_"))


def write_records(folder: pathlib.Path) -> None:
    """Writes the synthetic rows as PNG tf.Examples, the form that ImportExampleGen takes."""
    with tf.io.TFRecordWriter(str(folder / "data.tfrecord")) as writer:
        for block in data_factories.SyntheticSource(NUM_ROWS).blocks():
            labels = block.labels_N.tolist()
            for image, label in zip(png.encode_png(block.images_NHWC), labels, strict=True):
                writer.write(example.encode_example({"image": image, "key": b"", "label": label}))


def compare_ingest(rounds: int) -> str:
    """70,000 rows of raw pixels to checked, split, sharded PNG examples, against a TFX import."""
    records = _new_folder()
    write_records(records)
    ours, stock = [], []
    for _ in range(rounds):
        ours.append(run_program("ingest_rows", NUM_ROWS, _new_folder())["seconds"])
        found = run_program("example_gen", "ImportExampleGen", records, _new_folder())
        stock.append(found["seconds"])
    first, second = statistics.median(ours), statistics.median(stock)
    return (
        f"| {NUM_ROWS} rows | seconds | ratio |\n|---|---|---|\n| kerasline | {first:.1f} | 1 |\n"
        f"| ImportExampleGen | {second:.1f} | {second / first:.1f}x |"
    )


def measure_scales() -> str:
    """Seconds and memory of ingesting ten and a hundred times the rows."""
    lines = ["| rows | seconds | peak memory, MiB |", "|---|---|---|"]
    for num_rows in SCALES:
        found = run_program("ingest_rows", num_rows, _new_folder())
        lines.append(f"| {num_rows} | {found['seconds']:.1f} | {found['peak_mib']:.0f} |")
    return "\n".join(lines)


def compare_chains(rounds: int) -> str:
    """Rows per second of five chains over the same JPEG files."""
    rates = run_program("jpeg_chains", _new_folder(), rounds)
    lines = ["| chain | rows/s | kerasline is |", "|---|---|---|"]
    for name, rate in rates.items():
        ours = rates["rand_augment" if "rand" in name else "kerasline"]
        lines.append(f"| {name} | {rate:.0f} | {ours / rate:.2f}x |")
    return "\n".join(lines)


def compare_augmentation(rounds: int) -> str:
    """Milliseconds of a training step with and without augmentation."""
    steps = run_program("augmented_steps", _new_folder(), rounds)
    lines = ["| augmentation | ms a step | ratio |", "|---|---|---|"]
    for name, milliseconds in steps.items():
        lines.append(f"| {name} | {milliseconds:.1f} | {milliseconds / steps['none']:.2f}x |")
    return "\n".join(lines)


PARTS = {
    "ingest": lambda arguments: compare_ingest(arguments.rounds),
    "ingest-by-size": lambda arguments: measure_scales(),
    "csv": lambda arguments: csv_tables.compare_csv(arguments.rounds, arguments.csv_mb),
    "csv-by-size": lambda arguments: csv_tables.measure_csv(arguments.csv_mb),
    "csv-growth": lambda arguments: csv_tables.compare_growth(arguments.csv_mb),
    "jpeg": lambda arguments: compare_chains(arguments.rounds),
    "augmentation": lambda arguments: compare_augmentation(arguments.rounds),
}


def main() -> None:
    """Prints one table for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--csv-mb",
        type=float,
        default=1000.0,
        help="Size of the CSV files; CsvExampleGen takes half an hour for the default.",
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="Run this part; repeatable.")
    arguments = parser.parse_args()
    print(machine.describe())
    for name in arguments.only or PARTS:
        print(f"\n## {name}\n{PARTS[name](arguments)}", flush=True)


if __name__ == "__main__":
    main()
