"""The trackers by name, and whether their packages are here. Importing this imports none of them.

Addresses and keys are never settings of Kerasline: each tracker reads its own environment
variables, such as MLFLOW_TRACKING_URI or WANDB_API_KEY.
"""

import importlib.util
from collections.abc import Sequence

# Name of a tracker, which is also that of the module it needs and of the extra that brings it.
TRACKERS = ("mlflow", "wandb")


class TrackerError(ValueError):
    """A tracker cannot be used; nothing was trained."""


def check_installed(names: Sequence[str]) -> None:
    """Checks that the packages are here, before anything else is imported.

    Args:
        names: Members of `TRACKERS`.

    Raises:
        TrackerError: If one is missing, or there is no such tracker.
    """
    for name in names:
        if name not in TRACKERS:
            raise TrackerError(
                f"`trackers` must be among {', '.join(TRACKERS)}. Received: {name!r}."
            )
        if importlib.util.find_spec(name) is None:
            raise TrackerError(
                f"The tracker {name} needs a package that is not installed. "
                f"Received: trackers={list(names)}. "
                f"Install Kerasline with the extra {name}, such as `pip install '.[{name}]'`."
            )
