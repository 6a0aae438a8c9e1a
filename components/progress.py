"""Progress events from a running step to whoever shows them; silent when nobody listens.

The listener passes an open file descriptor in `KERASLINE_PROGRESS_FD`; each event is one JSON line.
"""

import json
import os
from collections.abc import Callable
from typing import Any

_listeners: list[Callable[[dict[str, Any]], None]] = []


def listen(listener: Callable[[dict[str, Any]], None]) -> None:
    """Calls `listener` from now on with each event of this process, in the thread that reports it.

    Args:
        listener: Takes the event's fields, with its name as `event`.
    """
    _listeners.append(listener)


def report(event: str, **fields: Any) -> None:
    """Sends one event, such as `report("rows", step="ingest", rows=70000)`.

    Args:
        event: `rows`, `epoch`, `gate_refused`, `message` or another name the listener may ignore.
        **fields: Values that JSON can hold.
    """
    values = {"event": event, **fields}
    for listener in _listeners:
        listener(values)
    descriptor = os.environ.get("KERASLINE_PROGRESS_FD")
    if descriptor is None:
        return
    line = json.dumps(values) + "\n"
    try:
        os.write(int(descriptor), line.encode())
    except OSError:
        # The listener has gone; the step's work must not fail for it.
        return
