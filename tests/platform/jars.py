"""Archives of jars in the artifact cache, unpacked once."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from avadm.artifacts.manifest import named
from avadm.artifacts.store import ArtifactState, ArtifactStore
from tests.platform.packages import CACHE


def jars(name: str) -> Path:
    """Return the folder of an artifact, with its jars in `jars`, which has to be built (`scripts/test-platform` does)."""
    (artifact,) = named((name,))
    kept = ArtifactStore.default()
    state = kept.state(artifact)
    assert state is ArtifactState.PRESENT, f"{name} is {state}: avadm artifacts build {name}"
    there = CACHE / f"{name}-{artifact.digest()}"
    if not there.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            with tarfile.open(kept.folder(artifact) / f"{name}.tar") as archive:
                archive.extractall(folder, filter="data")
            shutil.move(folder, there)
            Path(folder).mkdir()
    return there
