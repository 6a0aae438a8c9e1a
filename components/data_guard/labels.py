"""Labels and targets: rare classes, order, and splits that differ.

Legend: K classes, R rows.
"""

import numpy as np

from components.data_guard import shifts
from components.data_guard.config import DataGuardConfig
from components.data_guard.dataset import SPLITS, Dataset
from components.data_guard.findings import NEVER, Finding

# A class is rare if it has less than this part of an equal share.
_RARE_PART = 0.1
# Neighbours in the source's order that are alike by chance are below it.
_MIN_ORDER = 0.1
_MIN_ORDER_DEVIATIONS = 5.0
_SAMPLE_ROWS = 50_000


def find_rare_classes(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds classes with less than a tenth of an equal share of the training split."""
    del config  # Rare classes are a fact of life: per-class thresholds are what guards them.
    names = dataset.layout.class_names
    if not names:
        return []
    counts_K = dataset.class_counts("train")
    fair = counts_K.sum() / len(counts_K)
    rare = np.flatnonzero(counts_K < _RARE_PART * fair)
    if not len(rare):
        return []
    named = ", ".join(f"{names[index]} ({counts_K[index]})" for index in rare)
    return [
        Finding(
            name="rare_classes",
            amount=float(counts_K[rare].sum() / counts_K.sum()),
            limit=NEVER,
            sentence=f"Rare in the training split: {named}; an equal share is {fair:.0f}.",
            cure="Add examples, and set evaluation.min_class_accuracy, which they must meet too.",
        )
    ]


def find_label_shift(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds splits whose labels or targets differ from the training split's by more than chance."""
    name = dataset.layout.answer_name
    if name is None:
        return []
    limit = shifts.limit(dataset, config.max_label_shift)
    found = []
    for split in SPLITS[1:]:
        compare = _compare_labels if name == "label" else _compare_targets
        distance, is_chance, sentence = compare(dataset, split)
        if not is_chance:
            found.append(
                Finding(
                    name="label_shift",
                    amount=distance,
                    limit=limit,
                    sentence=sentence,
                    cure="Split again, or find out whether these rows come from elsewhere or from "
                    "another time.",
                )
            )
    return found


def _compare_labels(dataset: Dataset, split: str) -> tuple[float, bool, str]:
    """Returns how far a split's class shares are from training's, if by chance, and a sentence."""
    counts = dataset.class_counts("train"), dataset.class_counts(split)
    distance, is_chance = shifts.share_distance(*counts, num_tests=len(SPLITS) - 1)
    train_K, split_K = (counts_K / max(1, counts_K.sum()) for counts_K in counts)
    most = int(np.abs(split_K - train_K).argmax())
    return (
        distance,
        is_chance,
        f"The class shares of {split} differ from train's by {distance:.1%}, most "
        f"{dataset.layout.class_names[most]} ({split_K[most]:.1%}, in train {train_K[most]:.1%}).",
    )


def _compare_targets(dataset: Dataset, split: str) -> tuple[float, bool, str]:
    """Returns the same of targets."""
    train, other = (dataset.sample(name, _SAMPLE_ROWS)["target"] for name in ("train", split))
    distance, is_chance = shifts.number_distance(train, other, num_tests=len(SPLITS) - 1)
    medians = [float(np.median(values)) if len(values) else np.nan for values in (other, train)]
    return (
        distance,
        is_chance,
        f"The targets of {split} differ from train's by {distance:.1%} (a median of "
        f"{medians[0]:.4g}, in train {medians[1]:.4g}).",
    )


def find_order_bias(dataset: Dataset, config: DataGuardConfig) -> list[Finding]:
    """Finds labels that come in runs in the source's order, such as sorted ones."""
    del config  # Each pass over the data is shuffled as a whole, so training does not see it.
    name = dataset.layout.answer_name
    if name is None:
        return []
    agreement, num_pairs = _order(dataset, name)
    if agreement <= max(_MIN_ORDER, _MIN_ORDER_DEVIATIONS / max(1, num_pairs) ** 0.5):
        return []
    return [
        Finding(
            name="order_bias",
            amount=agreement,
            limit=NEVER,
            sentence=f"The {name}s come in runs in the order of the source: neighbours are alike "
            f"{agreement:.0%} of the way from chance to always.",
            cure="Training shuffles it all; but never split or cut such data by position.",
        )
    ]


def _order(dataset: Dataset, name: str) -> tuple[float, int]:
    """Returns how answers go with those before them in their shard, and how many there are.

    Of targets it is their correlation; of labels (a - c) / (1 - c), where a is the share of
    neighbours with the same label, and c that which chance would give.
    """
    alike, mean, spread = 0.0, 0.0, 0.0
    if name == "label":
        shares_K = dataset.class_counts("train") / dataset.num_train()
        mean = float((shares_K**2).sum())
        spread = 1 - mean
    else:
        sample = dataset.sample("train", _SAMPLE_ROWS)["target"].astype(np.float64)
        centre, spread = float(sample.mean()), float(sample.var())
    num_pairs = 0
    before = np.empty(0)
    for chunk in dataset.chunks("train"):
        answers = chunk.rows_R[name]
        joined = answers if chunk.starts_shard else np.concatenate([before, answers])
        num_pairs += len(joined) - 1
        if name == "label":
            alike += float((joined[1:] == joined[:-1]).sum())
        else:
            alike += float(((joined[1:] - centre) * (joined[:-1] - centre)).sum())
        before = answers[-1:]
    if not num_pairs or not spread:
        return 0.0, 0
    return (alike / num_pairs - mean) / spread, num_pairs
