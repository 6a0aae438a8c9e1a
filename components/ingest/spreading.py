"""Chooses who writes the shards: a Beam runner if one is named, else this machine's processes."""

from collections.abc import Sequence

from components.ingest.workers import LocalProcesses, Processes

_RUNNER = "--runner"


def choose(beam_options: Sequence[str]) -> Processes:
    """Returns who writes.

    Args:
        beam_options: Arguments of Apache Beam; without a runner among them Beam is not imported.
    """
    if not any(option.startswith(_RUNNER) for option in beam_options):
        return LocalProcesses()
    # Imported here, because it takes seconds.
    from components.ingest import beam_processes

    return beam_processes.BeamProcesses(beam_options)
