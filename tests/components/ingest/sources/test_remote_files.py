"""Reading from an object store, through pyarrow's own S3 client and a small store in this test."""

import http.server
import socket
import threading
import urllib.parse

import pyarrow
import pyarrow.parquet
import pytest

from components.ingest import resolve
from components.ingest.config import DataConfig
from components.ingest.errors import DataError

_LIST = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{}</ListBucketResult>'
_ITEM = (
    "<Contents><Key>{}</Key><Size>{}</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
    "</Contents>"
)


class Store(http.server.BaseHTTPRequestHandler):
    """What of S3 reading needs: lists by prefix, heads, and ranges of objects."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes] = {}

    def log_message(self, *args):
        del args

    def answer(self, status, content=b"", **headers):
        self.send_response(status)
        headers.setdefault("Content_Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(content)

    def do_HEAD(self):
        content = self.objects.get(urllib.parse.urlsplit(self.path).path)
        if content is None:
            self.answer(404)
        else:
            self.answer(200, Content_Length=str(len(content)))

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        if "list-type=2" in parts.query:
            prefix = dict(urllib.parse.parse_qsl(parts.query)).get("prefix", "")
            bucket = f"{parts.path.rstrip('/')}/"
            keys = [key for key in self.objects if key.startswith(bucket + prefix)]
            items = [_ITEM.format(key[len(bucket) :], len(self.objects[key])) for key in keys]
            self.answer(200, _LIST.format("".join(items)).encode(), Content_Type="application/xml")
            return
        content = self.objects[parts.path]
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        part = content[int(first) : int(last) + 1]
        where = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
        self.answer(206, part, Content_Range=where)


@pytest.fixture
def store(monkeypatch):
    """The objects of a store that listens on this machine, by bucket and key."""
    monkeypatch.setattr(Store, "objects", {})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        point_to(monkeypatch, server.server_port)
        yield Store.objects
        server.shutdown()
        thread.join()


def point_to(monkeypatch, port):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def config(kind, path):
    return DataConfig.from_dict(
        {
            "source": {"kind": kind, "path": path},
            "table": {"columns": {"size": {"kind": "number"}}},
            "target": {"source_name": "weight"},
            "splits": {"test_share": 0.1},
        }
    )


def read(data):
    return [row for block in resolve.open_source(data, None).blocks() for row in block.rows()]


def test_csv_files_in_a_bucket_are_read_by_wildcard(store):
    for part in range(2):
        store[f"/trips/2026/part-{part}.csv"] = f"size,weight\n{part},1\n{part + 5},2\n".encode()
    store["/trips/2026/other.txt"] = b"no rows"
    rows = read(config("csv", "s3://trips/2026/part-*.csv"))
    assert [row.key for row in rows] == [f"part-{p}.csv:{line}" for p in (0, 1) for line in (2, 3)]


def test_a_parquet_file_in_a_bucket_is_read_by_its_ranges(store):
    sink = pyarrow.BufferOutputStream()
    table = pyarrow.table({"size": [1.0, 2.0], "weight": [3.0, 4.0]})
    pyarrow.parquet.write_table(table, sink)
    store["/tables/a.parquet"] = sink.getvalue().to_pybytes()
    rows = read(config("parquet", "s3://tables/a.parquet"))
    assert [(row.key, row.features["target"]) for row in rows] == [
        ("a.parquet:0", 3.0),
        ("a.parquet:1", 4.0),
    ]


@pytest.mark.parametrize("path", ["s3://empty/none/*.csv", "s3://empty/none.csv"])
def test_a_path_in_a_bucket_that_names_nothing_is_told(store, path):
    with pytest.raises(DataError, match="to name files. Received: s3://empty/none"):
        read(config("csv", path))


def test_a_store_that_does_not_answer_is_told_with_what_to_check(store, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    point_to(monkeypatch, port)
    message = r"Expected to list s3://away/\*.csv, but: .* Check the name, the network and the cred"
    with pytest.raises(DataError, match=message):
        read(config("csv", "s3://away/*.csv"))
