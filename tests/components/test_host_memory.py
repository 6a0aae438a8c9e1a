"""Claims about the memory that the machine can still give."""

import os

from components import host_memory


def test_available_memory_is_some_and_no_more_than_the_machine_has():
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < host_memory.available_bytes() <= installed
