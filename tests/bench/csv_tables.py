"""The tables of `bench_input` about CSV files: beside CsvExampleGen, by size, and as they grow."""

import pathlib
import shutil
import statistics
import tempfile

from tests.bench.process import run_measured, run_program

_NUM_FILES = 10


def compare_csv(rounds: int, size_mb: float) -> str:
    """One CSV file of taxi trips to checked, split, sharded examples, beside TFX's CsvExampleGen.

    Args:
        rounds: How often each program runs, in turn; the medians count.
        size_mb: Size of the file.
    """
    programs = {"ingest_csv": "kerasline", "example_gen": "CsvExampleGen"}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory(prefix="bench_csv_") as name:
        folder = pathlib.Path(name, "trips")
        folder.mkdir()
        run_program("taxi_csv", folder / "trips.csv", size_mb)
        for _ in range(rounds):
            for program, results in found.items():
                source: list[object] = [folder / "trips.csv"]
                if program == "example_gen":
                    source = [programs[program], folder]
                results.append(run_measured(program, *source, pathlib.Path(name, "out")))
                shutil.rmtree(pathlib.Path(name, "out"))
    num_rows = found["ingest_csv"][0]["rows"]
    lines = [
        f"| {size_mb:g} MB, {num_rows:,} rows | seconds | peak memory, MiB | ratio |",
        "|---|---|---|---|",
    ]
    ours = statistics.median(result["seconds"] for result in found["ingest_csv"])
    for program, results in found.items():
        seconds = statistics.median(result["seconds"] for result in results)
        peak_mib = statistics.median(result["peak_mib"] for result in results)
        lines.append(
            f"| {programs[program]} | {seconds:.1f} | {peak_mib:,.0f} | {seconds / ours:.1f}x |"
        )
    return "\n".join(lines)


def measure_csv(size_mb: float) -> str:
    """Seconds and memory of reading files of a tenth of a size, of the size, and in between."""
    lines = ["| MB | rows | seconds | peak memory, MiB |", "|---|---|---|---|"]
    for share in (0.1, 0.3, 1.0):
        with tempfile.TemporaryDirectory(prefix="bench_csv_") as name:
            path = pathlib.Path(name, "trips.csv")
            made = run_program("taxi_csv", path, size_mb * share)
            found = run_measured("ingest_csv", path, pathlib.Path(name, "out"))
            lines.append(
                f"| {made['mb']:.0f} | {found['rows']:,} | {found['seconds']:.1f} "
                f"| {found['peak_mib']:,.0f} |"
            )
    return "\n".join(lines)


def compare_growth(size_mb: float) -> str:
    """Ten files of which the last comes later: reading what is new, and reading everything."""
    with tempfile.TemporaryDirectory(prefix="bench_csv_") as name:
        root = pathlib.Path(name)
        (root / "trips").mkdir()
        for index in range(_NUM_FILES):
            path = root / "trips" / f"{index}.csv"
            run_program("taxi_csv", path, size_mb / _NUM_FILES, index)
        late = path.rename(root / "late.csv")
        pattern = root / "trips" / "*.csv"
        run_program("ingest_csv", pattern, root / "cache")
        late.rename(path)
        grown = run_program("ingest_csv", pattern, root / "cache")
        whole = run_program("ingest_csv", pattern, root / "other")
    same = "the same digest" if grown["digest"] == whole["digest"] else "ANOTHER DIGEST"
    return (
        f"| {_NUM_FILES} files of {size_mb / _NUM_FILES:g} MB | seconds |\n|---|---|\n"
        f"| everything | {whole['seconds']:.1f} |\n"
        f"| the tenth, when nine were read before ({same}) | {grown['seconds']:.1f} |"
    )
