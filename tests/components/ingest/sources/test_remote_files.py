"""Reading from object stores, through pyarrow's and TensorFlow's own clients and small stores."""

import gzip
import http.server
import socket
import threading
import urllib.parse

import pyarrow
import pyarrow.parquet
import pytest
import tensorflow as tf

from components import addresses
from components.ingest import digest, resolve
from components.ingest.config import DataConfig
from components.ingest.errors import DataError
from tests import gcs_store

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


def config(kind, path, **source):
    return DataConfig.from_dict(
        {
            "source": {"kind": kind, "path": path, **source},
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


@pytest.fixture
def google(tmp_path, monkeypatch):
    """A store that stands in for Google's."""
    with gcs_store.served(tmp_path / "store") as running:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", running.address)
        yield running


@pytest.fixture(params=["gs", "ram"])
def place(request, tmp_path):
    """Writes objects, and says under which address they are."""
    if request.param == "ram":
        root = f"ram://{tmp_path.name}"

        def write(name, content):
            tf.io.gfile.makedirs(f"{root}/{name.rpartition('/')[0]}")
            with tf.io.gfile.GFile(f"{root}/{name}", "wb") as file:
                file.write(content)

        yield root, write
        tf.io.gfile.rmtree(root)
        return
    store = request.getfixturevalue("google")

    def write_object(name, content):
        path = store.folder / "trips" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    yield "gs://trips", write_object


def test_files_are_read_by_wildcards_lists_and_spans_wherever_they_lie(place):
    root, write = place
    write("2026/part-0.csv", b"size,weight\n0,1\n5,2\n")
    write("2026/part-1.csv.gz", gzip.compress(b"size,weight\n1,1\n"))
    write("2026/deep/part-2.csv", b"size,weight\n2,1\n")
    write("2026/other.txt", b"no rows")
    rows = read(config("csv", f"{root}/2026/part-*"))
    assert [row.key for row in rows] == ["part-0.csv:2", "part-0.csv:3", "part-1.csv.gz:2"]
    rows = read(config("csv", [f"{root}/2026/**/part-2.csv", f"{root}/2026/part-0.csv"]))
    assert [row.key for row in rows] == ["deep/part-2.csv:2", "part-0.csv:2", "part-0.csv:3"]
    data = config("csv", f"{root}/2026/**/part-{{SPAN}}.csv", spans={"newest": 1})
    assert [row.key for row in read(data)] == ["deep/part-2.csv:2"]


def test_a_parquet_file_is_read_by_its_ranges_wherever_it_lies(place):
    root, write = place
    sink = pyarrow.BufferOutputStream()
    table = pyarrow.table({"size": [1.0, 2.0], "weight": [3.0, 4.0]})
    pyarrow.parquet.write_table(table, sink)
    write("tables/a.parquet", sink.getvalue().to_pybytes())
    rows = read(config("parquet", f"{root}/tables/*.parquet"))
    assert [row.features["target"] for row in rows] == [3.0, 4.0]


@pytest.mark.parametrize("pattern", ["none/*.csv", "none.csv"])
def test_a_path_that_names_nothing_is_told_wherever_it_is(place, pattern):
    root, write = place
    write("a.csv", b"")
    with pytest.raises(DataError, match=f"to name files. Received: {root}/none"):
        read(config("csv", f"{root}/{pattern}"))


def test_a_file_that_changes_has_another_digest_where_no_times_are_kept(tmp_path):
    found = []
    for content in (b"1", b"2"):
        tf.io.gfile.makedirs(f"ram://{tmp_path.name}")
        with tf.io.gfile.GFile(f"ram://{tmp_path.name}/a.csv", "wb") as file:
            file.write(content)
        found.append(digest.source_digest(config("csv", f"ram://{tmp_path.name}/a.csv"), tmp_path))
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("status", "said"), [(401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED"), (503, "UNAVAILABLE")]
)
def test_a_store_that_refuses_is_told_with_what_to_check(google, monkeypatch, status, said):
    monkeypatch.setattr(addresses, "_QUICK_RETRY_SECS", 0.1)
    addresses._place.cache_clear()
    google.fail(status)
    with pytest.raises(
        DataError, match=rf"list gs://b/\*.csv, but: .*{said}.* Check the name, the"
    ):
        read(config("csv", "gs://b/*.csv"))


def test_a_scheme_that_nobody_knows_is_told():
    message = (
        r"pyarrow knows \(file, gs, s3, hdfs, abfs\) or TensorFlow \(.*ram\). Received: gss://b"
    )
    with pytest.raises(DataError, match=message):
        read(config("csv", "gss://b/a.csv"))


def test_a_file_system_whose_library_is_missing_is_told(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(DataError, match=r"Expected to reach hdfs://127.0.0.1:9, but: "):
        read(config("csv", "hdfs://127.0.0.1:9/a.csv"))
