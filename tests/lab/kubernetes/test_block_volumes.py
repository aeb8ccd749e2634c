"""Volumes on block images: one writer, many readers, clones; nothing that is not proven blank is ever formatted (K1)."""

import shlex
from contextlib import contextmanager

import pytest

from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow]
RBD = {"kind": "rbd", "modes": ["ReadWriteOnce"]}
BLIND = "#!/bin/sh\necho 'unexpected version of librbd' >&2\nexit 2\n"
"""A probe that finds nothing because it cannot: client and cluster of different versions, as in the incident."""


def rbd(volumes, command):
    return volumes.lab.sh(volumes.nodes[0], f"rbd --id rbd -p rbd {command}", 120)


def digest(volumes, image):
    return rbd(volumes, f"export --no-progress {image} - | sha256sum").split()[0]


@contextmanager
def blind_probes(volumes):
    """Have `blkid` on every node that mounts volumes tell nothing."""
    path = "/usr/local/sbin/blkid"
    try:
        for node in volumes.nodes:
            volumes.lab.sh(node, f"printf %s {shlex.quote(BLIND)} > {path} && chmod +x {path}")
        yield
    finally:
        for node in volumes.nodes:
            volumes.lab.sh(node, f"rm -f {path}")


def test_one_writer_at_a_time_and_the_data_move_with_the_pod(volumes, tried):
    tried(
        "block volume",
        "a second writer while the first lives",
        "refused; in with all data when the first has ended",
    )
    first, second = volumes.nodes[:2]
    image = volumes.claim("one", "128Mi", **RBD)
    volumes.pod("first", first, "one")
    volumes.up("first")
    report = volumes.must("first", "head -c 20000000 /dev/urandom > /data/x && sync && sha256sum /data/x")
    volumes.pod("second", second, "one")
    assert volumes.event("second", "one writer at a time"), volumes.kube.ctl(
        f"describe pod second -n {volumes.space}"
    )
    assert not volumes.is_up("second")
    filled = volumes.inside("first", "dd if=/dev/zero of=/data/big bs=1M count=200")
    assert filled.returncode != 0
    assert "No space left" in filled.stderr, filled.stderr
    volumes.drop("first")
    volumes.up("second")
    assert volumes.must("second", "sha256sum /data/x") == report
    volumes.drop("second")
    volumes.kube.ctl(f"delete pvc one -n {volumes.space}")
    assert wait(lambda: image not in rbd(volumes, "ls").split(), 90), "the image is still there"


def test_many_nodes_read_a_clone_and_none_writes(volumes):
    volumes.claim("origin", "64Mi", **RBD)
    volumes.pod("author", volumes.nodes[0], "origin")
    volumes.up("author")
    volumes.must("author", "echo hello > /data/word && sync")
    volumes.claim("copy", "64Mi", kind="rbd", modes=["ReadOnlyMany"], clone_of="origin")
    for i, node in enumerate(volumes.nodes[:2]):
        volumes.pod(f"reader{i}", node, "copy")
    for name in ("reader0", "reader1"):
        volumes.up(name)
        assert volumes.must(name, "cat /data/word") == "hello\n"
        done = volumes.inside(name, "echo bye > /data/word")
        assert done.returncode != 0
        assert "Read-only" in done.stderr
    for name in ("author", "reader0", "reader1"):
        volumes.drop(name)


def test_a_probe_that_cannot_tell_leads_to_no_mount_and_no_format(volumes, tried):
    tried(
        "block volume",
        "probe of the file system fails (K1)",
        "mount refused, with the reason, every byte as before",
    )
    image = volumes.claim("precious", "64Mi", **RBD)
    volumes.pod("before", volumes.nodes[0], "precious")
    volumes.up("before")
    report = volumes.must("before", "head -c 5000000 /dev/urandom > /data/x && sync && sha256sum /data/x")
    volumes.drop("before")
    assert wait(lambda: "none" in rbd(volumes, f"status {image}"), 60), "still open"
    whole = digest(volumes, image)
    with blind_probes(volumes):
        volumes.pod("blind", volumes.nodes[1], "precious")
        message = volumes.event("blind", "is not mounted, and nothing was written")
        assert "unexpected version of librbd" in (message or ""), message
        assert not volumes.is_up("blind")
        volumes.ask("unborn", "64Mi", **RBD)
        refused = volumes.event("unborn", "not proven blank")
        assert "unexpected version of librbd" in (refused or ""), refused
        assert volumes.get("pvc unborn")["status"]["phase"] == "Pending"
        volumes.drop("blind")
        assert wait(lambda: "none" in rbd(volumes, f"status {image}"), 60), "still open"
        assert digest(volumes, image) == whole
    volumes.bound("unborn")
    volumes.pod("after", volumes.nodes[1], "precious")
    volumes.up("after")
    assert volumes.must("after", "sha256sum /data/x") == report
    volumes.drop("after")


def test_an_image_that_lost_its_file_system_is_not_given_a_new_one(volumes, tried):
    tried(
        "block volume",
        "super-block overwritten by zeros",
        "mount refused, with the reason, every other byte as before",
    )
    image = volumes.claim("wiped", "64Mi", **RBD)
    wipe = "bench --io-type write --io-size 4K --io-threads 1 --io-total 4K --io-pattern seq"
    rbd(volumes, f"{wipe} {image} >/dev/null")
    before = digest(volumes, image)
    volumes.pod("lost", volumes.nodes[0], "wiped")
    assert volumes.event("lost", "wanted ext4, blkid finds: nothing")
    volumes.drop("lost")
    assert wait(lambda: "none" in rbd(volumes, f"status {image}"), 60), "still open"
    assert digest(volumes, image) == before
