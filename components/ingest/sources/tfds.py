"""TensorFlow Datasets by name: from the nearest place that has the data.

In this order, quickest first: a folder that TFDS has prepared; an installed Debian package of the
same data; the network, if the servers that the dataset names answer; the Debian package by apt.
"""

import concurrent.futures
import importlib
import os
import socket
import urllib.parse
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from components import progress
from components.ingest import checks
from components.ingest.config import DataConfig
from components.ingest.errors import BadRecipeError, DataError, nearest
from components.ingest.sources import debian, tfds_folder
from components.ingest.sources.base import Source
from components.ingest.sources.config import TfdsSource
from components.ingest.sources.idx import IdxSource

_CONNECT_SECS = 3.0
_PORTS = {"http": 80, "https": 443}


def find_local(source: TfdsSource, data: DataConfig, cache_dir: Path) -> Source | None:
    """Returns the dataset if it is on this machine.

    Raises:
        DataError: If it contradicts the recipe.
    """
    prepared = tfds_folder.find_prepared(source.name, data, _roots(source, cache_dir))
    if prepared is not None:
        return prepared
    # These are images and their classes, without other columns.
    files = None if data.image is None else _find_idx(source, cache_dir)
    if files is not None:
        if data.splits.key is not None:
            raise DataError(
                f"Expected no data.splits.key, since {files.origin} has no columns. "
                f'Received: key="{data.splits.key}". Remove data.splits.key and data.splits.by.'
            )
        height_px, width_px = files.image_shape()
        checks.check_image_size(data, height_px=height_px, width_px=width_px, channels=1)
    return files


def _find_idx(source: TfdsSource, cache_dir: Path) -> IdxSource | None:
    if source.data_dir is not None and source.name in debian.PACKAGES:
        folder = Path(source.data_dir).expanduser()
        files = debian.find_idx(folder, origin=f"IDX files of {source.name}")
        if files is not None:
            return files
    return debian.find_installed(source.name, cache_dir)


def _roots(source: TfdsSource, cache_dir: Path) -> list[Path]:
    """The folders where prepared datasets may lie; a named one is the only one."""
    if source.data_dir is not None:
        return [Path(source.data_dir).expanduser()]
    usual = os.environ.get("TFDS_DATA_DIR", "~/tensorflow_datasets")
    return [Path(usual).expanduser(), cache_dir / "tfds"]


def fetch(source: TfdsSource, data: DataConfig, cache_dir: Path) -> Source:
    """Gets the dataset from the network and returns it.

    Raises:
        DataError: If the name is unknown, or no server answers.
    """
    text = f"Looking for the dataset {source.name} on the network."
    progress.report("message", step="ingest", text=text)
    if source.package is not None:
        _import_package(source.package)
    reasons = _try_servers(source.name, _roots(source, cache_dir)[-1])
    if reasons and source.name in debian.PACKAGES:
        try:
            debian.fetch(source.name, cache_dir)
        except debian.FetchError as error:
            reasons.append(str(error))
    found = find_local(source, data, cache_dir)
    if found is None:
        raise DataError(_no_copy_sentence(source.name, reasons, cache_dir))
    return found


def _import_package(name: str) -> None:
    """Imports a package of the user's, which makes its datasets known to TFDS."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        raise BadRecipeError(
            "Expected data.source.package to be an installed package that defines the dataset. "
            f'Received: data.source.package="{name}", but: {error}. Install it, or correct the '
            "name."
        ) from error


def _try_servers(name: str, root: Path) -> list[str]:
    """Has TFDS prepare the dataset; returns why it could not, or an empty list."""
    # Imported only when every place that needs nothing of it has failed: it takes a second, and
    # preparing imports TensorFlow.
    import tensorflow_datasets

    try:
        builder = tensorflow_datasets.builder(name, data_dir=str(root), file_format="tfrecord")
    except tensorflow_datasets.core.registered.DatasetNotFoundError as error:
        known = tensorflow_datasets.list_builders(with_community_datasets=False)
        raise BadRecipeError(
            "Expected data.source.name to be a dataset that TensorFlow Datasets knows. "
            f'Received: data.source.name="{name}".{nearest(name.split("/")[0], known)} '
            "All names: python -c 'import tensorflow_datasets as t; print(*t.list_builders())'."
        ) from error
    except ValueError as error:
        raise BadRecipeError(
            "Expected data.source.name to be written name, name/config or name:version. "
            f'Received: data.source.name="{name}". Correct it.'
        ) from error
    # A builder of the user's has none.
    unreachable = first_unreachable(builder.url_infos or ())
    if unreachable is not None:
        return [f"{unreachable} does not answer"]
    download = tensorflow_datasets.download
    bad_bytes = download.download_manager.NonMatchingChecksumError
    try:
        builder.download_and_prepare()
    except (OSError, download.DownloadError, bad_bytes) as error:
        return [f"the download failed ({error})"]
    return []


def first_unreachable(urls: Iterable[str]) -> str | None:
    """Returns the first host of `urls` to which no connection can be made, or None.

    Takes about three seconds at most, where TFDS itself would try for minutes. Behind a proxy, the
    proxy is what must answer.
    """
    proxies = urllib.request.getproxies()
    parts = [urllib.parse.urlsplit(url) for url in urls]
    places = [urllib.parse.urlsplit(proxies.get(part.scheme, part.geturl())) for part in parts]
    addresses = {
        (place.hostname or "", place.port or _PORTS.get(place.scheme, 443)) for place in places
    }
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)
    attempts = {pool.submit(_connect, address): address for address in sorted(addresses)}
    # The resolver has its own, longer timeout; a look-up that is late is left behind.
    done, _ = concurrent.futures.wait(attempts, timeout=_CONNECT_SECS)
    pool.shutdown(wait=False, cancel_futures=True)
    failed = [
        address
        for attempt, address in attempts.items()
        if attempt not in done or not attempt.result()
    ]
    return failed[0][0] if failed else None


def _connect(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=_CONNECT_SECS).close()
    except OSError:
        return False
    return True


def _no_copy_sentence(name: str, reasons: list[str], cache_dir: Path) -> str:
    debian_cure = (
        f"install the Debian package {debian.PACKAGES[name].package}"
        if name in debian.PACKAGES
        else f"prepare it on a machine with a network and copy it to {cache_dir / 'tfds'}"
    )
    return (
        f"Expected the dataset {name} on this machine or on the network. "
        f"Received: no local copy, and {'; '.join(reasons)}. "
        f"Connect this machine and run again, or {debian_cure}, "
        "or name a folder that holds a copy in data.source.data_dir."
    )
