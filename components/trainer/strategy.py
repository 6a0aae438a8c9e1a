"""Distribution strategies by name, and how a batch divides over replicas."""

import json
import os

import tensorflow as tf

STRATEGIES = ("auto", "one_device", "mirrored", "multi_worker_mirrored", "tpu")


def make_strategy(name: str) -> tf.distribute.Strategy:
    """Makes the strategy under whose scope model and optimizer are built.

    Args:
        name: One of `STRATEGIES`. `auto` takes the workers of TF_CONFIG if there are several, else
            a TPU, else all GPUs if there are several, else one device.

    Returns:
        The strategy; for one device TensorFlow's default one, which adds nothing to a step.

    Raises:
        ValueError: If there is no such strategy, or if this machine cannot have it.
    """
    if name not in STRATEGIES:
        raise ValueError(
            f"`strategy` must be one of {', '.join(STRATEGIES)}. Received: strategy={name!r}."
        )
    if name == "auto":
        name = _best_strategy()
    if name == "mirrored":
        return _mirrored()
    if name == "multi_worker_mirrored":
        return _multi_worker_mirrored()
    if name == "tpu":
        return _tpu()
    return tf.distribute.get_strategy()


def per_replica_batch_size(
    global_batch_size: int, *, num_replicas: int, accumulation_steps: int = 1
) -> int:
    """Divides a global batch evenly over replicas and micro-batches.

    Args:
        global_batch_size: Examples per step, over all replicas; > 0.
        num_replicas: Devices that work in parallel; > 0.
        accumulation_steps: Micro-batches whose gradients are summed before one update; > 0.

    Returns:
        Examples per replica and step.

    Raises:
        ValueError: If it does not divide; the message names the nearest sizes that do.

    >>> per_replica_batch_size(1024, num_replicas=8)
    128
    """
    unit = num_replicas * accumulation_steps
    if global_batch_size % unit:
        low = global_batch_size // unit * unit
        nearest = f"{low} and {low + unit}" if low else f"{unit} and {2 * unit}"
        raise ValueError(
            "`global_batch_size` must be a multiple of the replica count times the accumulation "
            f"steps. Received: global_batch_size={global_batch_size}, num_replicas={num_replicas}, "
            f"accumulation_steps={accumulation_steps}. Nearest valid sizes: {nearest}."
        )
    return global_batch_size // num_replicas


def is_cluster(strategy: tf.distribute.Strategy) -> bool:
    """Says whether other processes take part, so that all must decide alike."""
    return bool(getattr(strategy.extended, "_in_multi_worker_mode", bool)())


def _best_strategy() -> str:
    if len(_cluster_workers()) > 1:
        return "multi_worker_mirrored"
    if os.environ.get("TPU_NAME") or tf.config.list_physical_devices("TPU"):
        return "tpu"
    return "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "one_device"


def _cluster_workers() -> list[str]:
    cluster = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {})
    return [*cluster.get("chief", []), *cluster.get("worker", [])]


def _mirrored() -> tf.distribute.Strategy:
    if tf.config.list_physical_devices("GPU"):
        return tf.distribute.MirroredStrategy()
    # Without GPUs the replicas are the logical CPU devices. The default collectives fail there
    # inside a loop on the device, and in a second strategy of the same process.
    return tf.distribute.MirroredStrategy(
        [device.name for device in tf.config.list_logical_devices("CPU")],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )


def _multi_worker_mirrored() -> tf.distribute.Strategy:
    if not _cluster_workers():
        raise ValueError(
            "The strategy multi_worker_mirrored needs the cluster's addresses in the environment "
            f"variable TF_CONFIG. Received: TF_CONFIG={os.environ.get('TF_CONFIG')!r}. "
            "Set it, or use the strategy mirrored on one machine."
        )
    return tf.distribute.MultiWorkerMirroredStrategy()


def _tpu() -> tf.distribute.Strategy:
    address = os.environ.get("TPU_NAME", "")
    # Asked first, because the resolver would look for a metadata server on the network.
    if not address and not tf.config.list_physical_devices("TPU"):
        raise ValueError(
            "The strategy tpu needs a TPU of this machine, or the name of one in the environment "
            f"variable TPU_NAME. Received: TPU_NAME={address!r}. "
            "Use the strategy auto on this machine."
        )
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=address or "local")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)
