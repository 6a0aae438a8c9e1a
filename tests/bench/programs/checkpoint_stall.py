"""How long a training waits for its checkpoints, as a share of its epochs.

Prints one JSON line: the milliseconds that a checkpoint takes of the training's own thread, and
their share of the run. Arguments: recipe, working folder, and `key=value` settings of the recipe.
"""

import json
import pathlib
import statistics
import sys
import time

from components.trainer import saving, train
from pipeline import recipe_files, training


def main() -> None:
    """Trains the recipe and times each checkpoint where the training waits for it."""
    recipe = recipe_files.load(sys.argv[1], sys.argv[3:])
    request = training.make_request(
        recipe, strategy="one_device", directory=pathlib.Path(sys.argv[2])
    )
    waits: list[float] = []
    save = saving.Saver._save

    def timed(self: saving.Saver, global_step: int, *, score: float | None) -> None:
        started = time.monotonic()
        save(self, global_step, score=score)
        waits.append(time.monotonic() - started)

    saving.Saver._save = timed  # type: ignore[method-assign]
    result = train.train(request)
    total_secs = sum(epoch.seconds for epoch in result.history) + sum(waits)
    print(
        json.dumps(
            {
                "num_checkpoints": len(waits),
                "num_epochs": len(result.history),
                "median_ms": 1e3 * statistics.median(waits),
                "epoch_ms": 1e3 * statistics.median(epoch.seconds for epoch in result.history),
                "share": sum(waits) / total_secs,
            }
        )
    )


if __name__ == "__main__":
    main()
