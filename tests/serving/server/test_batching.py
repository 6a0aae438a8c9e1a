import asyncio
import threading
import time

import numpy as np
import pytest

from serving.server import batching, errors, signature

FLOAT = np.dtype(np.float32)


def make_spec(*, rows=None, name="serve") -> signature.Signature:
    info = signature.TensorInfo("x:0", 1, FLOAT, (rows, None))
    return signature.Signature(name, "", {"x": info}, {"y": info}, {}, is_shape_checked=True)


class Recorder:
    """Stands in for a graph: doubles its input, and remembers the batches."""

    def __init__(self):
        self.batches = []
        self.gate = threading.Event()
        self.gate.set()

    def run(self, signature_name, inputs):
        self.batches.append(inputs["x"])
        assert self.gate.wait(30)
        if (inputs["x"] < 0).any():
            raise errors.invalid("negative")
        return {"y": inputs["x"] * 2}


def submit_all(options, requests, *, spec=None, seconds=30.0, renders=None):
    """Holds the worker with one request while the others gather, then lets all go."""
    recorder = Recorder()
    spec = spec or make_spec()

    async def run():
        batcher = batching.Batcher(recorder.run, options, name="test")
        recorder.gate.clear()
        deadline = time.monotonic() + seconds
        first = asyncio.create_task(
            batcher.submit(spec, {"x": np.zeros((1, 1), FLOAT)}, deadline=deadline)
        )
        while not recorder.batches:
            await asyncio.sleep(0.001)
        rest = [
            asyncio.create_task(
                batcher.submit(spec, {"x": request}, deadline=deadline)
                if render is None
                else batcher.submit_rendered(spec, {"x": request}, render, deadline=deadline)
            )
            for request, render in zip(requests, renders or [None] * len(requests), strict=True)
        ]
        await asyncio.sleep(0.05)
        recorder.gate.set()
        answers = await asyncio.gather(*rest, return_exceptions=True)
        await first
        await asyncio.to_thread(batcher.close)
        return answers

    return asyncio.run(run()), recorder.batches[1:]


def rows(*values):
    return np.array(values, FLOAT).reshape(-1, 1)


def test_waiting_requests_run_as_one_batch_and_get_their_own_rows():
    answers, batches = submit_all(batching.BatchingOptions(), [rows(1), rows(2, 3), rows(4)])
    assert [batch.ravel().tolist() for batch in batches] == [[1, 2, 3, 4]]
    assert [answer["y"].ravel().tolist() for answer in answers] == [[2], [4, 6], [8]]


def test_answers_are_rendered_together_and_beside_those_of_arrays():
    nums = []

    def render(outputs, nums_rows):
        nums.append(nums_rows)
        ends = np.cumsum(nums_rows)[:-1]
        return [part.tobytes() for part in np.split(outputs["y"], ends)]

    requests = [rows(1), rows(2, 3), rows(4), rows(5)]
    answers, batches = submit_all(
        batching.BatchingOptions(), requests, renders=[render, render, None, render]
    )
    assert [batch.ravel().tolist() for batch in batches] == [[1, 2, 3, 4, 5]]
    expected = [[2], [4, 6], None, [10]]
    for answer, values in zip(answers, expected, strict=True):
        assert values is None or answer == np.array(values, FLOAT).tobytes()
    assert answers[2]["y"].item() == 8
    assert nums == [[1, 2], [1]]


def test_answer_that_cannot_be_rendered_fails_alone():
    def render(outputs, nums_rows):
        if (outputs["y"] == 4).any():
            raise errors.invalid("no four")
        return [b"fine"] * len(nums_rows or [1])

    answers, _ = submit_all(
        batching.BatchingOptions(), [rows(1), rows(2), rows(3)], renders=[render] * 3
    )
    assert answers[0] == answers[2] == b"fine"
    assert answers[1].message == "no four"


def test_a_bad_request_fails_alone():
    answers, _ = submit_all(batching.BatchingOptions(), [rows(1), rows(-2), rows(3)])
    assert answers[0]["y"].item() == 2
    assert answers[1].message == "negative"
    assert answers[2]["y"].item() == 6


def test_batches_are_no_larger_than_allowed():
    options = batching.BatchingOptions(max_batch_size=2)
    _, batches = submit_all(options, [rows(1), rows(2), rows(3)])
    assert [len(batch) for batch in batches] == [2, 1]


def test_request_larger_than_a_batch_is_refused():
    options = batching.BatchingOptions(max_batch_size=2)
    (answer,), _ = submit_all(options, [rows(1, 2, 3)])
    assert answer.message == "Task size 3 is larger than maximum input batch size 2"


def test_full_queue_refuses_with_unavailable():
    options = batching.BatchingOptions(max_batch_size=1, max_enqueued_batches=2)
    answers, _ = submit_all(options, [rows(1), rows(2), rows(3)])
    assert answers[2].code is errors.Code.UNAVAILABLE
    assert answers[2].message.endswith("to which this task was submitted is full")


def test_batches_are_padded_to_an_allowed_size_with_a_real_row():
    options = batching.BatchingOptions(max_batch_size=8, allowed_batch_sizes=(4, 8))
    answers, batches = submit_all(options, [rows(5), rows(6, 7)])
    assert batches[0].ravel().tolist() == [5, 6, 7, 5]
    assert answers[1]["y"].ravel().tolist() == [12, 14]


def test_rows_of_different_widths_are_not_joined():
    wide = np.ones((1, 3), FLOAT)
    _, batches = submit_all(batching.BatchingOptions(), [rows(1), wide, rows(2)])
    assert sorted(batch.shape for batch in batches) == [(1, 3), (2, 1)]


def test_variable_widths_are_padded_when_asked_for():
    options = batching.BatchingOptions(pad_variable_length_inputs=True)
    _, batches = submit_all(options, [rows(1), np.full((1, 3), 2, FLOAT)])
    assert batches[0].tolist() == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize(
    "options, spec",
    [
        (batching.BatchingOptions(is_enabled=False), make_spec()),
        (batching.BatchingOptions(), make_spec(rows=1)),
    ],
    ids=["turned_off", "fixed_rows"],
)
def test_requests_run_alone(options, spec):
    _, batches = submit_all(options, [rows(1), rows(2)], spec=spec)
    assert [len(batch) for batch in batches] == [1, 1]


def test_request_whose_deadline_passed_while_waiting_is_not_run():
    async def run():
        recorder = Recorder()
        batcher = batching.Batcher(recorder.run, batching.BatchingOptions(), name="test")
        recorder.gate.clear()
        far = time.monotonic() + 30
        first = asyncio.create_task(batcher.submit(make_spec(), {"x": rows(1)}, deadline=far))
        while not recorder.batches:
            await asyncio.sleep(0.001)
        with pytest.raises(errors.ServingError, match="Deadline exceeded"):
            await batcher.submit(make_spec(), {"x": rows(2)}, deadline=time.monotonic() + 0.01)
        recorder.gate.set()
        await first
        await asyncio.to_thread(batcher.close)
        return recorder.batches

    assert [batch.item() for batch in asyncio.run(run())] == [1]


def test_close_finishes_what_waits_and_refuses_more():
    async def run():
        recorder = Recorder()
        batcher = batching.Batcher(recorder.run, batching.BatchingOptions(), name="test")
        far = time.monotonic() + 30
        waiting = [
            asyncio.create_task(batcher.submit(make_spec(), {"x": rows(n)}, deadline=far))
            for n in range(5)
        ]
        await asyncio.sleep(0)
        await asyncio.to_thread(batcher.close)
        answers = await asyncio.gather(*waiting)
        with pytest.raises(errors.ServingError, match="being unloaded"):
            await batcher.submit(make_spec(), {"x": rows(1)}, deadline=far)
        return [answer["y"].item() for answer in answers]

    assert asyncio.run(run()) == [0, 2, 4, 6, 8]


def test_defect_in_the_runner_is_an_internal_error():
    async def run():
        def fail(signature_name, inputs):
            raise KeyError("defect")

        batcher = batching.Batcher(fail, batching.BatchingOptions(), name="test")
        try:
            with pytest.raises(errors.ServingError, match="defect") as caught:
                await batcher.submit(make_spec(), {"x": rows(1)}, deadline=time.monotonic() + 30)
            return caught.value.code
        finally:
            await asyncio.to_thread(batcher.close)

    assert asyncio.run(run()) is errors.Code.INTERNAL


def test_requests_that_come_together_run_together_once_a_batch_had_company():
    recorder = Recorder()
    spec = make_spec()

    async def run():
        batcher = batching.Batcher(recorder.run, batching.BatchingOptions(), name="test")
        deadline = time.monotonic() + 30

        def submit():
            request = {"x": np.zeros((1, 1), FLOAT)}
            return asyncio.create_task(batcher.submit(spec, request, deadline=deadline))

        recorder.gate.clear()
        first = submit()
        while not recorder.batches:
            await asyncio.sleep(0.001)
        company = [submit() for _ in range(3)]
        await asyncio.sleep(0.05)
        recorder.gate.set()
        await asyncio.gather(first, *company)
        later = []
        for _ in range(5):
            later.append(submit())
            await asyncio.sleep(0)
        await asyncio.gather(*later)
        await asyncio.to_thread(batcher.close)

    asyncio.run(run())
    assert [len(batch) for batch in recorder.batches] == [1, 3, 5]
