"""Archives of jars in the artifact cache, unpacked once."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from avadm.artifacts.manifest import named
from tests.platform.built import built
from tests.platform.packages import CACHE


def jars(name: str) -> Path:
    """Return the folder of an artifact, with its jars in `jars`, which has to be built (`scripts/test-platform` does)."""
    (artifact,) = named((name,))
    folder = built(name)
    there = CACHE / f"{name}-{artifact.digest()}"
    if not there.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as partial:
            with tarfile.open(folder / f"{name}.tar") as archive:
                archive.extractall(partial, filter="data")
            shutil.move(partial, there)
            Path(partial).mkdir()
    return there
