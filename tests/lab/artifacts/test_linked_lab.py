"""What the cache has for this lab runs on the oldest system of the profiles, not just on the lab's."""

import pytest

from avadm.artifacts import glibc_check
from avadm.artifacts.manifest import manifest
from avadm.artifacts.store import ArtifactState, ArtifactStore

pytestmark = pytest.mark.lab


def test_no_program_needs_a_newer_c_library_than_the_oldest_system_has():
    store = ArtifactStore.default()
    there = [a for a in manifest().values() if store.state(a) in (ArtifactState.PRESENT, ArtifactState.STALE)]
    assert "kubernetes" in {a.name for a in there}
    assert [finding for a in there for finding in glibc_check.too_new(a.name, store.folder(a))] == []
    hyperkube = store.folder(manifest()["kubernetes"]) / "hyperkube"
    assert glibc_check.needs(hyperkube)["hyperkube"], (
        "it is linked to some glibc: kubelet opens NVIDIA's library"
    )
