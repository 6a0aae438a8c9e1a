"""The exception with which a gate stops a run."""

from components import progress


class GateRefusedError(RuntimeError):
    """A gate stopped the run; the message says what failed, by how much, and what to do.

    Raising it also sends a `gate_refused` event, so that the reason survives TFX's error wrapping.
    """

    def __init__(self, step: str, sentence: str):
        super().__init__(sentence)
        self.step = step
        self.sentence = sentence
        progress.report("gate_refused", step=step, sentence=sentence)
