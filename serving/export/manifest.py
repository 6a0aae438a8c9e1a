"""The manifest beside a SavedModel: what made it, what it answers, and the digest of every file."""

import hashlib
import json
import os
import pathlib
from typing import Any

MANIFEST_NAME = "kerasline.json"
FORMAT_VERSION = 1

_CHUNK_BYTES = 1 << 20


class ManifestError(ValueError):
    """A model folder does not hold what its manifest says."""


def write_manifest(model_dir: pathlib.Path, facts: dict[str, Any]) -> None:
    """Writes `kerasline.json` over every file now in `model_dir`.

    Args:
        model_dir: A finished SavedModel folder; the manifest is the last file to be written to it.
        facts: What else to record, as JSON values: versions, class names, the recipe.
    """
    document = {"format_version": FORMAT_VERSION, **facts, "files": _describe_files(model_dir)}
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    (model_dir / MANIFEST_NAME).write_text(text, encoding="utf-8")


def read_manifest(model_dir: pathlib.Path) -> dict[str, Any] | None:
    """Returns the manifest of a model folder, or None if it has none.

    Raises:
        ManifestError: If the manifest is there but cannot be read.
    """
    path = model_dir / MANIFEST_NAME
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ManifestError(
            f"The manifest cannot be read. Received: path={path}, error={error}. Export the model "
            f"again."
        ) from error
    if not isinstance(document, dict) or document.get("format_version") != FORMAT_VERSION:
        raise ManifestError(
            f"The manifest must be a JSON object with format_version={FORMAT_VERSION}. "
            f"Received: path={path}. Export the model with this version of Kerasline."
        )
    return document


def check_files(model_dir: pathlib.Path) -> None:
    """Compares a folder with its manifest; a folder without a manifest passes.


    Raises:
        ManifestError: If a file is missing or its bytes differ, such as in a half-copied folder.
    """
    document = read_manifest(model_dir)
    if document is None:
        return
    for name, expected in sorted(document["files"].items()):
        path = model_dir / name
        if not path.is_file():
            raise ManifestError(
                f"A file that the manifest names is missing. Received: path={path}."
            )
        received = _describe_file(path)
        if received != expected:
            raise ManifestError(
                f"A file differs from the manifest. Received: path={path}, "
                f"size={received['size_bytes']}, sha256={received['sha256']}; "
                f"expected size={expected['size_bytes']}, sha256={expected['sha256']}. "
                "Copy the model folder again."
            )


def _describe_files(model_dir: pathlib.Path) -> dict[str, dict[str, Any]]:
    described = {}
    for folder, _, names in os.walk(model_dir):
        for name in names:
            path = pathlib.Path(folder, name)
            described[path.relative_to(model_dir).as_posix()] = _describe_file(path)
    return described


def _describe_file(path: pathlib.Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return {"sha256": digest.hexdigest(), "size_bytes": path.stat().st_size}
