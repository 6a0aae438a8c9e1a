"""Drives a headless Chromium over a pipe with its DevTools protocol; no driver is needed."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_SECS = 120


def find() -> str | None:
    """Returns the path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab. Commands go to file descriptor 3 of the browser, answers come from 4."""

    def __init__(self, to_browser: int, from_browser: int):
        self._to, self._from = to_browser, from_browser
        self._buffer = b""
        self._next_id = 0
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")
        self.call("DOM.enable")

    def call(self, method: str, **parameters):
        """Sends a command and returns its result."""
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._next_id:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, expression: str):
        """Returns the value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression: str):
        """Returns the expression's value as soon as it is true."""
        ends_at = time.monotonic() + TIMEOUT_SECS
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < ends_at, f"It did not become true: {expression}"
            time.sleep(0.05)
        return value

    def choose_file(self, selector: str, path: str) -> None:
        """Puts a file into a file input."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[path], nodeId=node)

    def _read(self):
        ends_at = time.monotonic() + TIMEOUT_SECS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, ends_at - time.monotonic()))
            assert ready, "Chromium did not answer in time."
            data = os.read(self._from, 65_536)
            assert data, "Chromium has gone."
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def browse(profile_dir: str):
    """Starts Chromium, and gives a page; it is killed at the end."""
    commands_out, commands_in = os.pipe()
    answers_out, answers_in = os.pipe()
    # The shell gives the pipes the numbers 3 and 4, which Chromium expects.
    words = f'exec "$0" "$@" 3<&{commands_out} 4>&{answers_in}'
    flags = [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={profile_dir}",
    ]  # fmt: skip
    process = subprocess.Popen(
        ["bash", "-c", words, find(), *flags],
        pass_fds=[commands_out, answers_in],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(commands_out)
    os.close(answers_in)
    try:
        yield Page(commands_in, answers_out)
    finally:
        # Its helpers too: the browser leads a process group of its own.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(commands_in)
        os.close(answers_out)
