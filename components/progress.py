"""Progress events from a running step to whoever shows them; silent when nobody listens.

The listener passes an open file descriptor in `KERASLINE_PROGRESS_FD`; each event is one JSON line.
"""

import json
import os
from typing import Any


def report(event: str, **fields: Any) -> None:
    """Sends one event, such as `report("rows", step="ingest", rows=70000)`.

    Args:
        event: `rows`, `epoch`, `gate_refused`, `message` or another name the listener may ignore.
        **fields: Values that JSON can hold.
    """
    descriptor = os.environ.get("KERASLINE_PROGRESS_FD")
    if descriptor is None:
        return
    line = json.dumps({"event": event, **fields}) + "\n"
    try:
        os.write(int(descriptor), line.encode())
    except OSError:
        # The listener has gone; the step's work must not fail for it.
        return
