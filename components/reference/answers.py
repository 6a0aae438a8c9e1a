"""What a simple learner answers to the rows of the test split, as files.

Legend: N test rows.
"""

import dataclasses
import json
import pathlib

import numpy as np

FILE_NAME, ROWS_FILE_NAME = "reference.json", "answers.npy"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of one learner.

    Attributes:
        name: What it is, in the plural, such as "boosted trees".
        advice: What to do if it is better than the model: a sentence.
        num_train: Rows of training that it learned from.
        answers_N: Labels (int64) or numbers (float64), in the order of the sorted shards.
    """

    name: str
    advice: str
    num_train: int
    answers_N: np.ndarray


def write(answers: Answers, folder: pathlib.Path) -> None:
    """Writes two files into `folder`, which must exist."""
    values = {"name": answers.name, "advice": answers.advice, "num_train": answers.num_train}
    (folder / FILE_NAME).write_text(json.dumps(values, indent=1) + "\n")
    np.save(folder / ROWS_FILE_NAME, answers.answers_N)


def read(folder: pathlib.Path) -> Answers:
    """Reads what `write` wrote.

    Raises:
        FileNotFoundError: If `folder` does not hold it.
    """
    values = json.loads((folder / FILE_NAME).read_text())
    return Answers(**values, answers_N=np.load(folder / ROWS_FILE_NAME))
