"""Volumes on cephfs: shared between nodes, limited, gone with their claim; nothing is written beside the file system."""

import pytest

from tests.lab.waiting import wait

pytestmark = pytest.mark.lab


@pytest.mark.core("volumes")
def test_what_one_node_writes_another_reads_and_it_goes_with_its_claim(volumes):
    first, second = volumes.nodes[:2]
    name = volumes.claim("shared", "1Gi")
    volumes.pod("writer", first, "shared")
    volumes.pod("reader", second, "shared")
    volumes.up("writer")
    volumes.up("reader")
    done = volumes.inside("writer", "mkdir /data/a && echo hello > /data/a/word && ln -s / /data/out && sync")
    assert done.returncode == 0, done.stderr
    reply = wait(lambda: volumes.inside("reader", "cat /data/a/word").stdout, 20)
    assert reply == "hello\n"
    assert name in volumes.folders(second)
    beside = f"{volumes.mount}/volumes/beside-{volumes.space}"
    volumes.lab.sh(first, f"echo kept > {beside}")
    try:
        volumes.kube.ctl(f"delete pod writer reader -n {volumes.space} --now")
        volumes.kube.ctl(f"delete pvc shared -n {volumes.space}")
        assert wait(lambda: name not in volumes.folders(first), 60), "the folder is still there"
        assert wait(lambda: volumes.lab.run(volumes.kube.master, f"kubectl get pv {name}").returncode, 30)
        assert volumes.lab.sh(first, f"cat {beside}") == "kept\n"
    finally:
        volumes.lab.sh(first, f"rm -f {beside}")


def test_a_volume_holds_no_more_than_was_asked_for(volumes):
    volumes.claim("small", "16Mi")
    volumes.pod("filler", volumes.nodes[0], "small")
    volumes.up("filler")
    write = "dd if=/dev/zero of=/data/big bs=1M count=%d conv=fsync"
    assert volumes.inside("filler", write % 4).returncode == 0
    done = volumes.inside("filler", write % 200)
    assert done.returncode != 0
    assert "quota" in done.stderr.lower(), done.stderr
    # No one in a container raises the limit.
    raise_it = "python3 -c \"import os; os.setxattr('/data', 'ceph.quota.max_bytes', b'1000000000')\""
    done = volumes.lab.run(
        volumes.kube.master,
        f"kubectl exec -n {volumes.space} filler -- {raise_it}",
    )
    assert done.returncode != 0
    assert "not permitted" in done.stderr or "denied" in done.stderr, done.stderr


@pytest.mark.slow
def test_without_the_mount_no_pod_starts_and_nothing_is_written_to_the_nodes_disk(volumes, tried):
    tried("cephfs of a node", "unmounted under a running pod", "pods refused, nothing on its disk")
    node, lab, kube = volumes.nodes[-1], volumes.lab, volumes.kube
    name = volumes.claim("lost", "64Mi")
    volumes.pod("before", node, "lost")
    volumes.up("before")
    assert volumes.labelled(node)
    path = f"{volumes.mount}/volumes/{name}"
    lab.sh(
        node,
        f"systemctl stop avadm-cephfs; umount -l {volumes.mount} 2>/dev/null; ! mountpoint -q {volumes.mount}",
    )
    try:
        assert wait(lambda: not volumes.labelled(node), 40), "the node still says that it has the file system"
        assert volumes.inside("before", "echo lost > /data/file && sync").returncode != 0
        # docker makes folders that it is to hand to a container, when one starts again.
        named = {"pod.namespace": volumes.space, "container.name": "one"}
        find = "docker ps -q" + "".join(f" --filter label=io.kubernetes.{k}={v}" for k, v in named.items())
        lab.sh(node, f"docker kill $({find})")
        volumes.pod("after", node, "lost")

        def events_of():
            return [e for e in volumes.get("events")["items"] if e["involvedObject"]["name"] == "after"]

        refused = wait(lambda: any("hostPath type check failed" in e["message"] for e in events_of()), 60)
        assert refused, events_of()
        assert not volumes.is_up("after")
        assert lab.run(node, f"mkdir -p {path}").returncode != 0
        assert lab.sh(node, f"ls -A {volumes.mount}") == ""
    finally:
        lab.sh(node, "systemctl start avadm-cephfs")
    assert wait(lambda: volumes.labelled(node), 60)
    kube.ctl(f"delete pod before after -n {volumes.space} --now")
    volumes.pod("again", node, "lost")
    volumes.up("again")
    assert volumes.inside("again", "ls -A /data").stdout == ""
