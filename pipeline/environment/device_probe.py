"""Imports the heavy packages and prints, as JSON, what they found; run as a process of its own.

Command: `python -m pipeline.environment.device_probe`
"""

import json
import sys


def main() -> int:
    """Prints `{"devices": [...], "keras_backend": "..."}` as the last line; returns 0."""
    import keras
    import ml_metadata  # noqa: F401  it fails to import where the C library is too old
    import tensorflow as tf

    devices = []
    for device in tf.config.list_physical_devices():
        details = tf.config.experimental.get_device_details(device)
        name = details.get("device_name")
        devices.append(f"{device.device_type}: {name}" if name else device.device_type)
    print(json.dumps({"devices": devices, "keras_backend": keras.backend.backend()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
