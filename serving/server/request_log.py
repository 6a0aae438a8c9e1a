"""Writes a sample of the requests to TFRecord files, which drift monitoring reads later."""

import logging
import os
import pathlib
import queue
import random
import threading
import time

import tensorflow as tf
from tensorflow_serving.apis import logging_pb2, predict_pb2, prediction_log_pb2

from serving.server import model_configs

_log = logging.getLogger("kerasline.serve")

_MAX_QUEUED_RECORDS = 1_000
_MAX_FILE_RECORDS = 10_000
_MAX_FILE_SECS = 300.0


class RequestLog:
    """A writer thread for one model's log files.

    A file appears under its final name, `PREFIX-YYYYmmdd-HHMMSS-PID-NUMBER.tfrecord`, when it is
    finished; until then it ends in `.partial`. A slow disk costs records, never a request's time.
    """

    def __init__(
        self,
        config: model_configs.LoggingConfig,
        *,
        max_file_records: int = _MAX_FILE_RECORDS,
        max_file_secs: float = _MAX_FILE_SECS,
    ):
        """Starts the thread.

        Args:
            config: Where to write, and what share of the requests.
            max_file_records: Records after which a file is finished.
            max_file_secs: Seconds after which a file is finished.
        """
        self._config = config
        self._max_file_records = max_file_records
        self._max_file_secs = max_file_secs
        self._queue: queue.Queue[bytes | None] = queue.Queue(_MAX_QUEUED_RECORDS)
        self._random = random.Random()
        self._num_files = 0
        self.num_dropped = 0
        self._thread = threading.Thread(target=self._write, name="request-log", daemon=True)
        self._thread.start()

    def wants_next(self) -> bool:
        """Draws whether the next request belongs to the sample."""
        return self._random.random() < self._config.sampling_rate

    def add(
        self, request: predict_pb2.PredictRequest, response: predict_pb2.PredictResponse
    ) -> None:
        """Queues one request and its answer; when the queue is full, it is dropped and counted."""
        log = prediction_log_pb2.PredictionLog(
            log_metadata=logging_pb2.LogMetadata(
                model_spec=response.model_spec, timestamp_secs=int(time.time())
            ),
            predict_log=prediction_log_pb2.PredictLog(request=request, response=response),
        )
        log.log_metadata.sampling_config.sampling_rate = self._config.sampling_rate
        try:
            self._queue.put_nowait(log.SerializeToString())
        except queue.Full:
            self.num_dropped += 1

    def close(self) -> None:
        """Writes what is queued and finishes the file; blocks until that is done."""
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        is_open = True
        while is_open:
            record = self._queue.get()
            if record is None:
                return
            try:
                is_open = self._write_file(record)
            except (OSError, tf.errors.OpError) as error:
                self.num_dropped += 1
                _log.error("Requests cannot be logged: %s", error)

    def _write_file(self, record: bytes) -> bool:
        """Writes one file that starts with `record`; returns whether more may come."""
        path = self._next_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        ends_at = time.monotonic() + self._max_file_secs
        following: bytes | None = record
        with tf.io.TFRecordWriter(str(partial)) as writer:
            for count in range(1, self._max_file_records + 1):
                writer.write(following)
                if count == self._max_file_records:
                    break
                try:
                    following = self._queue.get(timeout=max(0.0, ends_at - time.monotonic()))
                except queue.Empty:
                    break
                if following is None:
                    break
        partial.rename(path)
        return following is not None

    def _next_path(self) -> pathlib.Path:
        self._num_files += 1
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        name = f"{self._config.filename_prefix}-{moment}-{os.getpid()}-{self._num_files}.tfrecord"
        return pathlib.Path(name)
