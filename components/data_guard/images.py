"""Images: splits of another brightness, and marks that tell the label.

Legend: R rows, D pixels of a thumbnail, K classes.
"""

import numpy as np

from components.data_guard import rules, shifts
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import SPLITS, Dataset
from components.data_guard.findings import Finding
from components.data_guard.near_images import flat_greys

_NUM_BINS = 32
# Rows for distributions and the search of a shortcut; more change nothing.
_SAMPLE_ROWS = 50_000


def find_pixel_shift(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds splits whose images are darker, lighter, flatter or richer in contrast than train's."""
    measures = {split: _measures(dataset, split) for split in SPLITS}
    limit = shifts.limit(dataset, config.max_pixel_shift)
    found = []
    for split in SPLITS[1:]:
        for name, values in measures[split].items():
            train = measures["train"][name]
            distance, is_chance = shifts.number_distance(train, values, num_tests=4)
            if not is_chance:
                found.append(
                    Finding(
                        name="pixel_shift",
                        amount=distance,
                        limit=limit,
                        sentence=f"The {name} of {split} differs from train's by {distance:.1%} "
                        f"(a mean of {values.mean():.0f}, in train {train.mean():.0f}).",
                        cure="Find out whether these images come from elsewhere.",
                    )
                )
    return found


def _measures(dataset: Dataset, split: str) -> dict[str, np.ndarray]:
    greys_RD = flat_greys(dataset.sample(split, _SAMPLE_ROWS))
    return {"brightness": greys_RD.mean(1), "contrast": greys_RD.std(1)}


def find_shortcut(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds one place in the image that tells its label nearly alone, such as a mark."""
    if dataset.layout.answer_name != "label":
        return []
    train, validation = (dataset.sample(split, _SAMPLE_ROWS) for split in ("train", "validation"))
    answers = rules.Answers(train["label"], validation["label"], len(dataset.layout.class_names))
    bins = [
        rows["grey"].reshape(len(rows), -1) // (256 // _NUM_BINS) for rows in (train, validation)
    ]
    found = [
        rules.score_cells(bins[0][:, place], bins[1][:, place], answers, _NUM_BINS)
        for place in range(bins[0].shape[1])
    ]
    best = max(range(len(found)), key=lambda place: found[place].accuracy)
    accuracy = found[best].accuracy
    # With one frequent class, every rule that always names it is right that often.
    if accuracy <= config.max_shortcut_accuracy or found[best].avoided <= config.max_target_leak:
        return []
    side = round(len(found) ** 0.5)
    place = f"row {best // side + 1} and column {best % side + 1} of a {side} x {side} grid"
    return [
        Finding(
            name="shortcut",
            amount=accuracy,
            limit=config.max_shortcut_accuracy,
            sentence=f"The brightness at {place} alone tells {accuracy:.1%} of the labels.",
            cure="Look there for a mark, a frame or a stamp that differs by class, and remove it.",
        )
    ]
