"""What no one needs goes from the registry, and nothing else; the writer comes back."""

import pytest

pytestmark = pytest.mark.lab

DATA = "/var/lib/docker-registry/docker/registry/v2"
ORPHAN = "ab" + "0" * 62


def test_a_layer_of_no_image_is_removed_and_the_writer_runs_again(lab, registry):
    node = lab.names("registry")[0]
    assert "avadm-registry-gc.timer" in lab.sh(node, "systemctl list-timers --all")
    place = f"{DATA}/blobs/sha256/ab/{ORPHAN}"
    lab.sh(
        node,
        f"install -d -o docker-registry -g docker-registry {DATA}/blobs/sha256/ab {place} && echo x > {place}/data",
    )
    before = int(lab.sh(node, f"find {DATA}/blobs -name data | wc -l"))
    lab.sh(node, "systemctl start avadm-registry-gc")
    assert int(lab.sh(node, f"find {DATA}/blobs -name data | wc -l")) == before - 1
    assert all(lab.host(node).service(s).is_running for s in ("avadm-registry", "avadm-registry-writer"))
    lab.sh(
        node,
        f"skopeo inspect --raw --cert-dir /etc/docker/certs.d/{registry} docker://{registry}/avadm/base:12",
    )


def test_nothing_is_removed_where_no_image_can_be_seen(lab, registry):
    node = lab.names("registry")[0]
    count = f"find {DATA}/blobs -name data | wc -l"
    before = lab.sh(node, count)
    lab.sh(node, f"mv {DATA}/repositories {DATA}/away && install -d -o docker-registry {DATA}/repositories")
    try:
        assert lab.run(node, "systemctl start avadm-registry-gc").returncode != 0
        assert lab.sh(node, count) == before
    finally:
        lab.sh(
            node,
            f"rmdir {DATA}/repositories; mv {DATA}/away {DATA}/repositories; systemctl reset-failed avadm-registry-gc",
        )
    assert lab.host(node).service("avadm-registry-writer").is_running
