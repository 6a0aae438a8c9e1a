"""Where prepared data is kept between runs."""

import os
import pathlib

CACHE_DIR_VARIABLE = "KERASLINE_CACHE_DIR"


def cache_dir() -> pathlib.Path:
    """Returns `$KERASLINE_CACHE_DIR`, else `kerasline` in the user's cache folder.

    The folder is `$XDG_CACHE_HOME/kerasline`, or `~/.cache/kerasline` where that variable is not
    set.
    """
    named = os.environ.get(CACHE_DIR_VARIABLE)
    if named:
        return pathlib.Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "kerasline"
