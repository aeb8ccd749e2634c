"""The support bundle as a file: a tar.gz for its owner alone, every byte of it redacted before it is packed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from avadm.checks.evidence import Snapshot, parse
from avadm.errors import AvadmError
from avadm.private_files import write_private

SNAPSHOT = "snapshot.json"
MANIFEST = "manifest.json"
LARGEST = 256 * 1024 * 1024
"""Bytes of a snapshot that are read: a bundle may come from anywhere."""


def pack(path: Path, folder: str, files: Mapping[str, str], about: Mapping[str, Any]) -> None:
    """Write a bundle (0600), whole or not at all.

    Args:
        path: the file.
        folder: the one folder inside.
        files: name to text.
        about: further members of the manifest; it lists each file with its size and sha256.

    Raises:
        AvadmError: the file cannot be written.
    """
    rows = [
        {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in ((n, t.encode()) for n, t in sorted(files.items()))
    ]
    manifest = json.dumps({**about, "files": rows}, indent=1, ensure_ascii=False) + "\n"
    out, now = io.BytesIO(), int(time.time())
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as tar:
        for name, text in sorted({**files, MANIFEST: manifest}.items()):
            data = text.encode()
            member = tarfile.TarInfo(f"{folder}/{name.lstrip('/')}")
            member.size, member.mode, member.mtime = len(data), 0o600, now
            tar.addfile(member, io.BytesIO(data))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, out.getvalue())
    except OSError as error:
        raise AvadmError.of(
            "bundle-unwritable", where=str(path), found=error.strerror or str(error)
        ) from error


def snapshot_text(path: Path) -> str:
    """Return the text of the snapshot in a bundle, or of a bare snapshot file.

    Raises:
        AvadmError: there is no such file, or nothing of the kind in it.
    """
    try:
        if path.suffix == ".json":
            return path.read_text(encoding="utf-8", errors="replace")
        with tarfile.open(path, mode="r:gz") as tar:
            for member in tar:
                if member.isfile() and Path(member.name).name == SNAPSHOT and member.size <= LARGEST:
                    data = tar.extractfile(member)
                    if data is not None:
                        return data.read().decode("utf-8", "replace")
    except (OSError, EOFError, tarfile.TarError, gzip.BadGzipFile, zlib.error) as error:
        raise _refused(path, getattr(error, "strerror", None) or str(error)) from error
    raise _refused(path, f"no {SNAPSHOT} in it")


def read(path: Path) -> Snapshot:
    """Return the snapshot in a bundle, or in a bare snapshot.json."""
    return parse(snapshot_text(path), str(path))


def _refused(path: Path, found: str) -> AvadmError:
    wanted = "a tar.gz with snapshot.json"
    return AvadmError.of("bundle", where=str(path), found=found, wanted=wanted)
