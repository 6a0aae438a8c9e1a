"""A small store that speaks what pyarrow's client uses of Google Cloud Storage's JSON interface.

It runs as a process of its own: pyarrow asks the store some things while it holds Python's lock,
so that a thread of the test could not answer. Objects are files in a folder, bucket/name.
"""

import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator

_OBJECT = re.compile(r"/(?:download/)?storage/v1/b/([^/]+)/o/([^/]+)")
_LIST = re.compile(r"/storage/v1/b/([^/]+)/o")
_UPLOAD = re.compile(r"/upload/storage/v1/b/([^/]+)/o")
_REWRITE = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)/rewriteTo/b/([^/]+)/o/([^/]+)")
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_ROOT = pathlib.Path(__file__).parents[1]
# The status that is answered in place of what was asked, and after how many changes.
_FAULT, _CHANGES = ".fault", ".changes"


class Store:
    """A store that is running; `folder` holds its objects, and `address` is where it listens."""

    def __init__(self, folder: pathlib.Path, address: str):
        self.folder, self.address = folder, address

    def fail(self, status: int, *, after_changes: int | None = None) -> None:
        """From now on, or after some changes of objects, answers everything with a status."""
        number = -1 if after_changes is None else after_changes + self.num_changes()
        (self.folder / _FAULT).write_text(f"{status} {number}")

    def heal(self) -> None:
        """Answers again."""
        (self.folder / _FAULT).unlink()

    def num_changes(self) -> int:
        """How many objects were written, copied or deleted so far."""
        return _num_changes(self.folder)

    def names(self, prefix: str = "") -> list[str]:
        """Returns the objects whose bucket/name begins so."""
        return _names(self.folder, prefix)


@contextlib.contextmanager
def served(folder: pathlib.Path) -> Iterator[Store]:
    """Runs a store for as long as the block lasts."""
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.gcs_store", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    try:
        yield Store(folder, process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def _num_changes(folder: pathlib.Path) -> int:
    path = folder / _CHANGES
    return path.stat().st_size if path.is_file() else 0


def _names(folder: pathlib.Path, prefix: str) -> list[str]:
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in files if name.startswith(prefix) and "/" in name)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: pathlib.Path
    uploads: dict[str, tuple[str, bytes]]

    def log_message(self, *args):
        del args

    def handle_any(self):
        content = self.body()
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        if status := self.fault():
            self.answer(status, {"error": {"code": status, "message": "as the test wants it"}})
        elif found := _REWRITE.fullmatch(parts.path):
            self.rewrite(*self.objects(found))
        elif found := _UPLOAD.fullmatch(parts.path):
            self.upload(found[1], query, content)
        elif found := _LIST.fullmatch(parts.path):
            self.list(found[1], query.get("prefix", ""))
        elif found := _OBJECT.fullmatch(parts.path):
            (name,) = self.objects(found)
            self.object(name, query)
        else:
            self.answer(404, {"error": {"code": 404, "message": "not found"}})

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        content = b""
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    def fault(self):
        path = self.folder / _FAULT
        if not path.is_file():
            return 0
        status, number = map(int, path.read_text().split())
        return status if _num_changes(self.folder) >= number else 0

    def objects(self, found):
        words = [urllib.parse.unquote(word) for word in found.groups()]
        return [f"{bucket}/{name}" for bucket, name in zip(words[::2], words[1::2], strict=True)]

    def answer(self, status, content, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def metadata(self, name):
        bucket, _, key = name.partition("/")
        content = (self.folder / name).read_bytes()
        return {
            "kind": "storage#object",
            "id": name,
            "name": key,
            "bucket": bucket,
            # It tells objects apart that had the same name one after the other.
            "generation": str(int(hashlib.sha256(content).hexdigest()[:12], 16)),
            "metageneration": "1",
            "size": str(len(content)),
            "timeCreated": "2026-01-01T00:00:00Z",
            "updated": "2026-01-01T00:00:00Z",
        }

    def list(self, bucket, prefix):
        found = [self.metadata(name) for name in _names(self.folder, f"{bucket}/{prefix}")]
        self.answer(200, {"kind": "storage#objects", "items": found})

    def object(self, name, query):
        path = self.folder / name
        if not path.is_file():
            self.answer(404, {"error": {"code": 404, "message": f"No such object: {name}"}})
        elif self.command == "DELETE":
            path.unlink()
            self.changed()
            self.answer(204, b"")
        elif query.get("alt") != "media":
            self.answer(200, self.metadata(name))
        elif found := _RANGE.fullmatch(self.headers.get("Range", "")):
            content = path.read_bytes()
            first, last = int(found[1]), int(found[2] or len(content) - 1)
            part = content[first : last + 1]
            where = f"bytes {first}-{first + len(part) - 1}/{len(content)}"
            self.answer(206, part, Content_Range=where)
        else:
            self.answer(200, path.read_bytes())

    def upload(self, bucket, query, content):
        if (upload_id := query.get("upload_id")) is None:
            upload_id = str(len(self.uploads))
            self.uploads[upload_id] = f"{bucket}/{query['name']}", b""
            where = f"http://{self.headers['Host']}{self.path}&upload_id={upload_id}"
            self.answer(200, b"", Location=where)
            return
        name, before = self.uploads[upload_id]
        self.uploads[upload_id] = name, before + content
        if self.headers["Content-Range"].endswith("/*"):
            self.answer(308, b"", Range=f"bytes=0-{len(before + content) - 1}")
            return
        self.write(name, before + content)
        self.answer(200, self.metadata(name))

    def rewrite(self, source, target):
        self.write(target, (self.folder / source).read_bytes())
        size = str((self.folder / target).stat().st_size)
        answer = {"totalBytesRewritten": size, "objectSize": size, "done": True}
        kind = "storage#rewriteResponse"
        self.answer(200, {**answer, "kind": kind, "resource": self.metadata(target)})

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.changed()

    def changed(self):
        with (self.folder / _CHANGES).open("a") as file:
            file.write(".")


def main() -> None:
    """Serves the folder that is named."""
    handler = type("Handler", (_Handler,), {"folder": pathlib.Path(sys.argv[1]), "uploads": {}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
