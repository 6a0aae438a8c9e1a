"""Names that Docker, Kubernetes and TF Serving accept, and the numbers that configs share."""

import re
from typing import Annotated

import pydantic

# Below 1024 a process without capabilities may not listen everywhere.
Port = Annotated[int, pydantic.Field(ge=1_024, le=65_535)]
PositiveInt = Annotated[int, pydantic.Field(gt=0)]
Percent = Annotated[int, pydantic.Field(ge=0, le=100)]

# Shorter than a DNS label, because KServe adds to it.
OBJECT = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
METRICS_PATH = re.compile(r"(/[A-Za-z0-9_.-]+)+")
IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._/:-]*?(:(?P<tag>[\w.-]+)|@sha256:[0-9a-f]{64})")
RESOURCE = re.compile(r"[a-z0-9.-]+/[A-Za-z0-9_.-]+")
LABEL_KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def check_label(**named: str) -> None:
    """Checks a DNS label, which is given under its key.

    Raises:
        ValueError: If it is none.
    """
    for key, value in named.items():
        if not DNS_LABEL.fullmatch(value):
            raise ValueError(
                f"{key} must be a DNS label: 1 to 63 lower-case letters, digits or -, neither "
                f"first nor last a -. Received: {key} = {value!r}."
            )
