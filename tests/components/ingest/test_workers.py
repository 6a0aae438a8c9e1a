import os
import signal
import subprocess

import pytest

from tests.components import data_factories
from tests.components.ingest.ingest_factories import run


def test_one_process_and_several_write_the_same_bytes(tmp_path):
    source = data_factories.SyntheticSource(num_rows=2_000)
    code = (
        "import sys; from pathlib import Path\n"
        "from components.ingest import workers\n"
        "from tests.components import data_factories\n"
        "from tests.components.ingest.ingest_factories import run\n"
        "workers._MIN_PARALLEL_BYTES = 0\n"
        "source = data_factories.SyntheticSource(num_rows=2_000)\n"
        "assert workers.num_workers(1, num_shards=2) == 2\n"
        "print(run(source, Path(sys.argv[1])).digest)\n"
    )
    several = data_factories.run_python(code, str(tmp_path / "several"))
    assert several.strip() == run(source, tmp_path / "one").digest


INTERRUPTED = """
import os, sys
from pathlib import Path
from components.ingest import workers
from tests.components import data_factories
from tests.components.ingest.ingest_factories import run
os.environ["KERASLINE_PROGRESS_FD"] = "1"
workers._MIN_PARALLEL_BYTES = int(sys.argv[2])
run(data_factories.SyntheticSource(num_rows=10_000_000), Path(sys.argv[1]))
"""


@pytest.mark.parametrize("min_parallel_bytes", [0, 10**12])
def test_control_c_midway_leaves_nothing(tmp_path, min_parallel_bytes):
    process = subprocess.Popen(
        **data_factories.python_command(INTERRUPTED, str(tmp_path), str(min_parallel_bytes)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == -signal.SIGINT and errors.rstrip().endswith(b"KeyboardInterrupt")
    assert [path.suffix for path in (tmp_path / "datasets").iterdir()] == [".lock"]
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
