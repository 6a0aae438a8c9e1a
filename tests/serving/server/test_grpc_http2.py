"""gRPC calls over our own HTTP/2, with hyper-h2 and grpcio as clients."""

import asyncio
import random
from concurrent import futures

import grpc
import h2.settings
import pydantic
import pytest

from serving.server import config
from tests.serving import harness
from tests.serving.server import http2_clients


@pytest.fixture(scope="module")
def running():
    with http2_clients.listen(max_message_bytes=20_000_000) as server:
        yield server


@pytest.fixture
def stock(running):
    with http2_clients.stock_channel(running) as channel:
        yield channel


def test_h2_client_gets_the_answer(running):
    with http2_clients.h2_client(running) as client:
        headers, body = client.finish(client.send(b"abc"))
    assert body == b"\0\0\0\0\x03abc"
    assert headers == {":status": "200", "content-type": "application/grpc", "grpc-status": "0"}


@pytest.mark.parametrize("size", [0, 1, 16_379, 16_380, 70_000, 5_000_000])
def test_large_messages_pass_both_ways_through_the_windows(running, stock, size):
    message = random.Random(size).randbytes(size)
    assert http2_clients.call(stock, message) == message


def test_answer_waits_for_small_windows(running):
    with http2_clients.h2_client(running) as client:
        size = 300_000
        client.connection.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 100})
        client.flush()
        headers, body = client.finish(client.send(b"size %d" % size))
    assert headers["grpc-status"] == "0"
    assert len(body) == size + 5


def test_many_calls_at_once_on_one_connection(running, stock):
    with futures.ThreadPoolExecutor(32) as pool:
        messages = [str(number).encode() for number in range(500)]
        assert (
            list(pool.map(lambda message: http2_clients.call(stock, message), messages)) == messages
        )


def test_metadata_and_deadline_that_differ_each_time(running, stock):
    """Other headers make other header blocks, which change the table that blocks refer to."""
    for number in range(50):
        metadata = [(f"key-{number % 7}", str(number)), ("same", "x" * number)]
        method = stock.unary_unary(http2_clients.PATH)
        assert method(b"m", timeout=number + 1, metadata=metadata) == b"m"


def test_deadline_reaches_the_method(running, stock):
    remaining = stock.unary_unary(http2_clients.PATH)(b"deadline", timeout=1_000)
    # A busy machine takes a while to connect.
    assert 1_000 - http2_clients.TIMEOUT_SECS <= int(remaining) <= 1_000


def test_error_is_told_in_the_trailers(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        http2_clients.call(stock, b"fail")
    assert caught.value.code() is grpc.StatusCode.OUT_OF_RANGE
    assert caught.value.details() == "50% ä\nend"


def test_unknown_method(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        stock.unary_unary("/test.Service/Other")(b"", timeout=http2_clients.TIMEOUT_SECS)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_compressed_message_is_refused(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        http2_clients.call(stock, b"x" * 1_000, compression=grpc.Compression.Gzip)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "must not be compressed. Received: grpc-encoding='gzip'" in caught.value.details()


def test_message_that_is_too_large_is_refused(running, stock):
    with pytest.raises(grpc.RpcError) as caught:
        http2_clients.call(stock, bytes(20_000_001))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "at most 20000000 bytes" in caught.value.details()


@pytest.mark.parametrize(
    ("prefix", "message"),
    [(b"", b""), (b"\0\0\0", b""), (b"\0\0\0\0\x02", b"x"), (b"", b"\0" * 11)],
)
def test_body_that_is_not_one_message_is_refused(running, prefix, message):
    with http2_clients.h2_client(running) as client:
        headers, _ = client.finish(client.send(message, prefix=prefix))
    assert headers["grpc-status"] == "13"
    assert "one whole message" in headers["grpc-message"]


def test_malformed_timeout_is_refused(running):
    with http2_clients.h2_client(running) as client:
        headers, _ = client.finish(
            client.send(b"", headers=[*http2_clients.HEADERS, ("grpc-timeout", "9x")])
        )
    assert headers["grpc-status"] == "13"


@pytest.mark.parametrize(
    ("changed", "status"),
    [(("content-type", "application/json"), "415"), ((":method", "GET"), "405")],
)
def test_request_that_is_not_grpc_gets_an_http_status(running, changed, status):
    headers = list({**dict(http2_clients.HEADERS), changed[0]: changed[1]}.items())
    with http2_clients.h2_client(running) as client:
        headers, _ = client.finish(client.send(b"", headers=headers))
    assert headers[":status"] == status


def test_padding_is_left_out(running):
    with http2_clients.h2_client(running) as client:
        _, body = client.finish(client.send(b"abc", pad_length=99))
    assert body[5:] == b"abc"


def test_headers_in_several_frames(running):
    long = [(f"key-{number}", "v" * 2_000) for number in range(6)]
    with http2_clients.h2_client(running) as client:
        client.connection.max_outbound_frame_size = 5_000
        _, body = client.finish(client.send(b"abc", headers=[*http2_clients.HEADERS, *long]))
    assert body[5:] == b"abc"


def test_call_that_the_client_gives_up_is_cancelled(running):
    before = running.service.num_cancelled
    with http2_clients.h2_client(running) as client:
        stream_id = client.send(b"wait")
        client.connection.reset_stream(stream_id, 8)
        client.flush()
        client.finish(client.send(b"after"))
        client.send(b"wait")
    harness.wait_until(lambda: running.service.num_cancelled >= before + 1)


def test_drain_finishes_what_has_begun_and_refuses_the_rest():
    with (
        http2_clients.listen() as running,
        grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        begun = channel.unary_unary(http2_clients.PATH).future(
            b"wait", timeout=http2_clients.TIMEOUT_SECS
        )
        harness.wait_until(lambda: running.service.num_begun == 1)
        draining = asyncio.run_coroutine_threadsafe(running.server.drain(20.0), running.loop)
        harness.wait_until(lambda: not running.server.is_serving)
        with pytest.raises(grpc.RpcError) as caught:
            http2_clients.call(channel, b"late")
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        running.open_gate()
        assert begun.result() == b"wait"
        draining.result(http2_clients.TIMEOUT_SECS)


def test_what_only_grpcio_can_do_is_refused_with_it():
    with pytest.raises(pydantic.ValidationError, match="are for grpcio"):
        config.ServerConfig(
            model_base_path="m", grpc_frontend="http2", grpc_channel_arguments="a=1"
        )
