"""Closed-loop load over raw sockets: each client sends its next request when the last is answered.

One process and one epoll loop, requests encoded beforehand, answers parsed no further than their
framing: it costs 20 to 40 us of processor time a request, where a stock client costs hundreds.

    python -m tests.bench.programs.load_generator rest 8501 request.bin --clients 64 --seconds 3
"""

import argparse
import array
import json
import pathlib
import selectors
import socket
import statistics
import struct
import threading
import time

import hpack
import numpy as np

_READ_BYTES = 1 << 18
_PATH = "/tensorflow.serving.PredictionService/Predict"
_MAX_WINDOW = 2**31 - 1
_DEFAULT_WINDOW = 65_535
_DATA, _HEADERS, _RST, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_NUM_REHEARSALS = 50
_MIN_REQUEST_BYTES = 1_000  # What else a client sends is shorter.
_REST_SECS = 0.5


class RestClient:
    """One HTTP/1.1 connection that posts the same body again and again."""

    def __init__(self, port: int, body: bytes, path: str):
        """Connects.

        Args:
            port: On this machine.
            body: The JSON text.
            path: Such as `/v1/models/conv:predict`.
        """
        self.socket = _connect(port)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._wire = head.encode() + body
        self._received = b""

    def send(self) -> None:
        """Sends one request."""
        self.socket.sendall(self._wire)

    def receive(self) -> bool:
        """Reads what has come; tells whether the answer is whole.

        Raises:
            ConnectionError: If the server closed or answered something else than 200.
        """
        self._received += _read(self.socket)
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator:
            return False
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) < length:
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(f"Not 200: {self._received[:300]!r}")
        self._received = b""
        return True


class GrpcClient:
    """One HTTP/2 connection with one unary call of Predict at a time."""

    def __init__(self, port: int, message: bytes):
        """Connects and shakes hands; `message` is a serialized PredictRequest."""
        self.socket = _connect(port)
        self._received = bytearray()
        self._stream_id = -1
        self._has_answer = False
        self._window = _DEFAULT_WINDOW  # Bytes that the server is ready to take.
        self._prefix = hpack_headers(port)
        self._body = b"\0" + struct.pack(">I", len(message)) + message
        # No dynamic table, no limit on what the server may send.
        settings = struct.pack(">HIHIHI", 1, 0, 2, 0, 4, _MAX_WINDOW)
        growth = struct.pack(">I", _MAX_WINDOW - _DEFAULT_WINDOW)
        self.socket.sendall(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            + frame(_SETTINGS, 0, 0, settings)
            + frame(_WINDOW_UPDATE, 0, 0, growth),
        )

    def send(self) -> None:
        """Sends one call, once the server has room for it."""
        while self._window < len(self._body):
            self._take_frames(_read(self.socket))
        self._window -= len(self._body)
        self._stream_id += 2
        self._has_answer = False
        self.socket.sendall(
            frame(_HEADERS, _END_HEADERS, self._stream_id, self._prefix)
            + frame(_DATA, _END_STREAM, self._stream_id, self._body),
        )

    def receive(self) -> bool:
        """Reads what has come; tells whether the call has ended.

        Raises:
            ConnectionError: If the server closed, or the call ended without a message.
        """
        return self._take_frames(_read(self.socket))

    def _take_frames(self, data: bytes) -> bool:
        received = self._received
        received += data
        has_ended = False
        start = 0
        while len(received) - start >= 9:
            stop = start + 9 + int.from_bytes(received[start : start + 3], "big")
            if len(received) < stop:
                break
            kind, flags = received[start + 3], received[start + 4]
            has_ended |= self._take_frame(kind, flags, received[start:stop])
            start = stop
        del received[:start]
        return has_ended

    def _take_frame(self, kind: int, flags: int, whole: bytearray) -> bool:
        if kind == _DATA:
            # An error is answered with trailers alone.
            self._has_answer = True
        elif kind == _HEADERS and flags & _END_STREAM:
            if not self._has_answer:
                raise ConnectionError(f"The call failed: {bytes(whole[9:])!r}")
            return True
        elif kind == _WINDOW_UPDATE and not any(whole[5:9]):
            self._window += int.from_bytes(whole[9:13], "big")
        elif kind in (_SETTINGS, _PING) and not flags & _ACK:
            payload = b"" if kind == _SETTINGS else bytes(whole[9:])
            self.socket.sendall(frame(kind, _ACK, 0, payload))
        elif kind in (_RST, _GOAWAY):
            raise ConnectionError(f"Frame {kind}: {bytes(whole[9:])!r}")
        return False


def hpack_headers(port: int) -> bytes:
    """Returns the header block of a call, the same for every stream."""
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", _PATH),
        (":authority", f"127.0.0.1:{port}"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
    return encoder.encode(headers)


def frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    """Returns an HTTP/2 frame."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream_id) + payload


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _read(connection: socket.socket) -> bytes:
    data = connection.recv(_READ_BYTES)
    if not data:
        raise ConnectionError("The server closed the connection.")
    return data


def rehearse(protocol: str, body: bytes, path: str) -> None:
    """Runs this program's own code often enough that the server's first answer is not slowed by it.

    The answers come from a thread of this process.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_answer_alike, args=(listener, protocol), daemon=True).start()
        client = make_client(protocol, listener.getsockname()[1], body, path)
        for _ in range(_NUM_REHEARSALS):
            ask(client)
        client.socket.close()


def _answer_alike(listener: socket.socket, protocol: str) -> None:
    connection, _ = listener.accept()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    if protocol == "grpc":
        growth = struct.pack(">I", _MAX_WINDOW - _DEFAULT_WINDOW)
        connection.sendall(frame(_SETTINGS, 0, 0, b"") + frame(_WINDOW_UPDATE, 0, 0, growth))
        answer = frame(_DATA, 0, 1, bytes(99)) + frame(_HEADERS, _END_STREAM, 1, bytes(9))
    while data := connection.recv(_READ_BYTES):
        if len(data) > _MIN_REQUEST_BYTES:
            connection.sendall(answer)


def make_client(protocol: str, port: int, body: bytes, path: str) -> RestClient | GrpcClient:
    """Returns a connected client."""
    return GrpcClient(port, body) if protocol == "grpc" else RestClient(port, body, path)


def ask(client: RestClient | GrpcClient) -> float:
    """Returns the latency of one request in seconds."""
    start = time.time()
    client.send()
    while not client.receive():
        pass
    return time.time() - start


def run(clients: list[RestClient | GrpcClient], seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Loads the server with all clients for `seconds`.

    Returns:
        For each answer: when it came, on `time.time`'s clock, and its latency in seconds.
    """
    ready = selectors.DefaultSelector()
    started = {}
    for client in clients:
        ready.register(client.socket, selectors.EVENT_READ, client)
        started[client] = time.time()
        client.send()
    ended_at, latencies = array.array("d"), array.array("d")
    stop_at = time.time() + seconds
    while started:
        for key, _ in ready.select(timeout=30):
            client = key.data
            if not client.receive():
                continue
            now = time.time()
            ended_at.append(now)
            latencies.append(now - started.pop(client))
            if now < stop_at:
                started[client] = now
                client.send()
    return np.array(ended_at), np.array(latencies)


def main() -> None:
    """Runs the load and prints one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("protocol", choices=("grpc", "rest"))
    parser.add_argument("port", type=int)
    parser.add_argument("request", type=pathlib.Path)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--path", default="/v1/models/conv:predict")
    parser.add_argument("--timeline", type=pathlib.Path)
    parser.add_argument("--rests", type=int, default=0, help="Requests after a rest, at the end.")
    arguments = parser.parse_args()
    body = arguments.request.read_bytes()
    rehearse(arguments.protocol, body, arguments.path)
    clients = [
        make_client(arguments.protocol, arguments.port, body, arguments.path)
        for _ in range(arguments.clients)
    ]
    cpu_start = time.process_time()
    ended_at, latencies = run(clients, arguments.seconds)
    cpu_secs = time.process_time() - cpu_start
    if arguments.timeline is not None:
        np.save(arguments.timeline, np.stack([ended_at, latencies]))
    rested = []
    for _ in range(arguments.rests):
        time.sleep(_REST_SECS)
        rested.append(ask(clients[0]))
    p50, p99 = np.percentile(latencies, [50, 99])
    print(
        json.dumps(
            {
                "requests": len(latencies),
                "rps": len(latencies) / (ended_at[-1] - (ended_at[0] - latencies[0])),
                "first_us": latencies[0] * 1e6,
                "p50_us": p50 * 1e6,
                "p99_us": p99 * 1e6,
                "max_us": latencies.max() * 1e6,
                "rested_us": statistics.median(rested or [0.0]) * 1e6,
                "own_cpu_us": cpu_secs / len(latencies) * 1e6,
            }
        )
    )


if __name__ == "__main__":
    main()
