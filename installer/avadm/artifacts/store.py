"""The cache of artifacts: ~/.cache/avadm/artifacts/NAME/VERSION/, whole or not there, with a checksum of each file."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from avadm import paths
from avadm.artifacts import images
from avadm.artifacts.manifest import Artifact
from avadm.errors import DAMAGE

RECORD = "artifact.json"
VERSIONS = 4
"""How many versions are kept of an artifact that is made of the checkout's own sources: the last ones, to go back to."""


class ArtifactState(StrEnum):
    """How the cache has an artifact."""

    PRESENT = "present"
    STALE = "stale"  # built by another recipe than the one of now; it can still be installed
    DAMAGED = "damaged"
    ABSENT = "absent"


class CachedFile(BaseModel):
    """One file of an artifact in the cache.

    Attributes:
        sha256: its checksum.
        size: bytes.
        reported: what the program reported when asked its version.
        image: ``NAME:TAG`` of a container image that it is.
        image_id: that image's ``sha256:…``, as an engine tells it.
    """

    model_config = ConfigDict(frozen=True)

    sha256: str
    size: int
    reported: str = ""
    image: str = ""
    image_id: str = ""


class Record(BaseModel):
    """What artifact.json holds.

    Attributes:
        name: the artifact.
        version: its version.
        source: ``build`` or ``upstream``.
        recipe: Artifact.digest() of what made it; "" where it was fetched.
        toolchain: the Go release that built it; "" where it was fetched.
        made: when, UTC.
        seconds: how long it took.
        files: file name to what is kept of it.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    version: str
    source: str
    recipe: str = ""
    toolchain: str = ""
    made: str
    seconds: float
    files: dict[str, CachedFile]


@dataclass(frozen=True, slots=True)
class ArtifactStore:
    """The cache.

    Attributes:
        root: its folder.
    """

    root: Path

    @classmethod
    def default(cls) -> ArtifactStore:
        """Return the cache of this user."""
        return cls(paths.cache() / "artifacts")

    def folder(self, artifact: Artifact) -> Path:
        """Return where an artifact's files are, or would be."""
        return self.root / artifact.name / artifact.version

    def log(self, artifact: Artifact) -> Path:
        """Return the log of an artifact's last build."""
        return self.root / artifact.name / f"{artifact.version}.log"

    def record(self, artifact: Artifact) -> Record | None:
        """Return what the cache says of an artifact, None where it has none or what it says is damaged."""
        try:
            return Record.model_validate_json((self.folder(artifact) / RECORD).read_bytes())
        except DAMAGE:
            return None

    def state(self, artifact: Artifact, *, deep: bool = False) -> ArtifactState:
        """Return how the cache has an artifact; ``deep`` reads every byte, else sizes are compared."""
        if not self.folder(artifact).is_dir():
            return ArtifactState.ABSENT
        if self.damage(artifact, deep=deep):
            return ArtifactState.DAMAGED
        record = self.record(artifact)
        other = record is not None and record.recipe and record.recipe != artifact.digest()
        return ArtifactState.STALE if other else ArtifactState.PRESENT

    def damage(self, artifact: Artifact, *, deep: bool = True) -> dict[str, str]:
        """Return file to what is wrong with it; nothing where all is well."""
        record = self.record(artifact)
        if record is None:
            return {RECORD: "cannot be read"}
        wrong = {name: "not recorded" for name in artifact.files if name not in record.files}
        for name, kept in record.files.items():
            path = self.folder(artifact) / name
            try:
                if path.stat().st_size != kept.size:
                    wrong[name] = f"{path.stat().st_size} bytes, wanted {kept.size}"
                elif deep and (found := sha256(path)) != kept.sha256:
                    wrong[name] = f"sha256 {found[:12]}…, wanted {kept.sha256[:12]}…"
            except OSError as error:
                wrong[name] = error.strerror or str(error)
        return wrong

    def variables(self, artifact: Artifact) -> dict[str, Any] | None:
        """Return the variables of an artifact; None where the cache has it not, or damaged."""
        record = self.record(artifact)
        if record is None or self.state(artifact) in (ArtifactState.ABSENT, ArtifactState.DAMAGED):
            return None
        folder = self.folder(artifact)
        files = {n: {"path": str(folder / n), "sha256": k.sha256} for n, k in record.files.items()}
        for name, kept in record.files.items():
            files[name] |= {"image": kept.image, "image_id": kept.image_id} if kept.image else {}
        return {"version": record.version, "files": files}

    @contextmanager
    def locked(self, artifact: Artifact, waits: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold an artifact's lock; ``waits`` is called where another process has it. It ends with the process."""
        path = self.root / artifact.name / "lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waits()
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    @contextmanager
    def work(self, artifact: Artifact) -> Iterator[Path]:
        """Yield an empty folder to build in; it is gone afterwards, and so is what a killed build left."""
        parent = self.root / artifact.name
        for old in parent.glob(".work-*"):
            shutil.rmtree(old, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=".work-", dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def put(self, artifact: Artifact, made: Path, record: Record) -> None:
        """Take a folder of finished files over as an artifact, whole or not at all; the lock must be held."""
        made.chmod(0o755)
        (made / RECORD).write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
        for path in (*made.iterdir(), made):
            _sync(path)
        target, old = self.folder(artifact), self.root / artifact.name / ".work-old"
        if target.exists():
            target.replace(old)
        made.replace(target)
        _sync(target.parent)
        with suppress(OSError):
            shutil.rmtree(old)

    def prune(self, artifact: Artifact) -> None:
        """Remove what an artifact's oldest versions have, of one whose versions come with its sources; the lock must be held."""
        versions = [f for f in (self.root / artifact.name).iterdir() if (f / RECORD).is_file()]
        own = self.folder(artifact)
        for old in sorted(versions, key=lambda f: f.stat().st_mtime, reverse=True)[VERSIONS:]:
            if old != own:
                shutil.rmtree(old, ignore_errors=True)
                old.with_name(f"{old.name}.log").unlink(missing_ok=True)


def keep(folder: Path, reported: dict[str, str]) -> dict[str, CachedFile]:
    """Return what is kept of each file of a folder."""
    found = {}
    for path in sorted(p for p in folder.iterdir() if p.name != RECORD):
        kept = CachedFile(sha256=sha256(path), size=path.stat().st_size, reported=reported.get(path.name, ""))
        image = images.read(path) if path.suffix == ".tar" else None
        found[path.name] = (
            kept.model_copy(update={"image": image.name, "image_id": image.id}) if image else kept
        )
    return found


def sha256(path: Path) -> str:
    """Return a file's checksum in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def as_json(record: Record | None) -> dict[str, Any]:
    """Return a record as JSON-ready data; an empty mapping for none."""
    return {} if record is None else dict(json.loads(record.model_dump_json()))
