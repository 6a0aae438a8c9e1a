"""tf.data service: other processes, here or on other machines, make the batches.

A dispatcher gives each step to one of its workers, and the trainer takes the batches as they come.
So each example comes once per pass, as long as no worker is lost, but batches may overtake each
other: with a service, a run is not repeated bit for bit, and a resumed run can see a few batches
again or not at all.
"""

import atexit
import subprocess
import sys
from typing import TypeAlias

import tensorflow as tf

from components import child_process

LOCAL = "local:"
_PROTOCOL = "grpc"

Server: TypeAlias = (
    tf.data.experimental.service.DispatchServer | tf.data.experimental.service.WorkerServer
)


class ServiceError(RuntimeError):
    """A process of the service cannot start."""


def distribute(batches: tf.data.Dataset, service: str) -> tf.data.Dataset:
    """Returns the same batches, made by a service, in the order in which they are ready.

    Args:
        batches: A chain on one dataset of steps, whose files the workers find under the same names.
        service: "HOST:PORT" of a dispatcher, or "local:N" for N workers that are started now and
            end with this process.

    Raises:
        ValueError: If `service` is neither.
    """
    check(service)
    if service.startswith(LOCAL):
        service = start_local(int(service.removeprefix(LOCAL)))
    return batches.apply(
        tf.data.experimental.service.distribute(
            processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC,
            service=f"{_PROTOCOL}://{service}",
        )
    )


def check(service: str) -> None:
    """Checks how a service is named.

    Raises:
        ValueError: If it is not "HOST:PORT" or "local:N".
    """
    host, _, number = service.rpartition(":")
    if not (host and number.isdecimal() and int(number) > 0):
        raise ValueError(
            "A data service is the HOST:PORT of its dispatcher, or local:N for N workers on this "
            f"machine. Received: data_service={service!r}."
        )


def start_local(num_workers: int) -> str:
    """Starts a dispatcher and workers as processes that end with this one.

    Args:
        num_workers: > 0.

    Returns:
        The dispatcher's "HOST:PORT".
    """
    port = _start("dispatcher")
    for _ in range(num_workers):
        _start("worker", "--dispatcher", f"localhost:{port}")
    return f"localhost:{port}"


def run_dispatcher(port: int) -> Server:
    """Starts a dispatcher in this process.

    Args:
        port: Where it listens; 0 chooses a free port.

    Raises:
        ServiceError: If it cannot listen there.
    """
    config = tf.data.experimental.service.DispatcherConfig(port=port)
    try:
        return tf.data.experimental.service.DispatchServer(config)
    except (RuntimeError, tf.errors.OpError) as error:
        raise ServiceError(
            f"A dispatcher cannot listen there. Received: port={port} ({error}). "
            "Choose another port."
        ) from error


def run_worker(dispatcher: str, *, port: int, host: str) -> Server:
    """Starts a worker in this process.

    Args:
        dispatcher: "HOST:PORT" of its dispatcher.
        port: Where it listens; 0 chooses a free port.
        host: Under which name trainers reach this machine.

    Raises:
        ServiceError: If it cannot listen there, or does not find its dispatcher.
    """
    config = tf.data.experimental.service.WorkerConfig(
        dispatcher_address=dispatcher, worker_address=f"{host}:%port%", port=port
    )
    try:
        return tf.data.experimental.service.WorkerServer(config)
    except (RuntimeError, tf.errors.OpError) as error:
        raise ServiceError(
            f"A worker cannot start. Received: dispatcher={dispatcher}, port={port} "
            f"({error}). Start the dispatcher first, or choose another port."
        ) from error


def port_of(server: Server) -> int:
    """Returns where a dispatcher or a worker listens."""
    if isinstance(server, tf.data.experimental.service.DispatchServer):
        return int(server.target.rpartition(":")[2])
    # A worker has no public way to tell its address.
    return int(server._address.rpartition(":")[2])


def _start(*arguments: str) -> int:
    """Starts a process of the service, waits until it listens, and returns its port."""
    process = child_process.start(
        [sys.executable, "-m", "components.input_pipeline.service_process", *arguments],
        stdout=subprocess.PIPE,
    )
    atexit.register(process.terminate)
    line = process.stdout.readline() if process.stdout else b""
    if not line:
        raise ServiceError(
            f"A process of the data service ended with {process.wait()} before it listened. "
            f"Received: {' '.join(arguments)}. Its own message stands above."
        )
    return int(line)
