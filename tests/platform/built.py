"""What avadm built for nodes, of which tests start the programs themselves."""

from __future__ import annotations

from pathlib import Path

from avadm.artifacts.manifest import named
from avadm.artifacts.store import ArtifactState, ArtifactStore


def built(name: str) -> Path:
    """Return the folder of an artifact in the cache, which has to be that of its recipe (`scripts/test-platform` sees to it)."""
    (artifact,) = named((name,))
    kept = ArtifactStore.default()
    state = kept.state(artifact)
    assert state is ArtifactState.PRESENT, f"{name} is {state}: avadm artifacts build {name}"
    return kept.folder(artifact)
