"""A folder of an NFS server in a pod of a real kubelet, and its server falls silent.

This machine has no NFS client: `mount.nfs` stands in for it here, and shows an ext4 image by FUSE, whose program is stopped
in place of a server that does not answer. It hangs for ever where the kernel's soft mount gives up after a minute.
"""

import json
import shlex
import time

import pytest

from avadm_node.agents.volumes import nfs

pytestmark = [pytest.mark.lab, pytest.mark.slow]
SERVER, PATH = "nfs.test", "/export"
NAME, IMAGE, CONFIG = nfs.volume(SERVER, PATH), "/run/nfs-stand-in.img", "/etc/avadm/volumes/node.json"
DEAD = "/run/nfs-stand-in-dead"
STAND_IN = f"""#!/bin/sh
[ "$1" = "{SERVER}:{PATH}" ] || {{ echo "mount.nfs: access denied by server while mounting $1" >&2; exit 32; }}
[ -e {DEAD} ] && {{ sleep 5; echo "mount.nfs: Connection timed out" >&2; exit 32; }}
exec fuse2fs -o ro,allow_other,fakeroot {IMAGE} "$2"
"""
WATCH = """
import glob, sys, time
sys.path.insert(0, max(glob.glob('/usr/lib/avadm/volumes-*.pyz'), key=__import__('os').path.getmtime))
from avadm_node.agents.volumes.driver import Driver
from avadm_node.agents.volumes.nfs import Nfs, Watch
watch = Watch(Nfs((), Driver.alone))
for _ in range(LOOKS):
    watch.look()
    time.sleep(1)
"""
ASKS = "while :; do stat -f /data/. > /dev/null; sleep 1; done"


@pytest.fixture
def node(volumes, lab):
    """A node that may mount from the server; all of it is taken back at the end."""
    name = volumes.nodes[-1]

    def sh(command, timeout=120):
        return lab.sh(name, command, timeout)

    before = sh(f"cat {CONFIG}")
    given = json.dumps(json.loads(before) | {"nfs": [SERVER]})
    sh(
        f"mkdir -p /run/nfs-made && echo hello > /run/nfs-made/word && truncate -s 16M {IMAGE} && "
        f"mkfs.ext4 -q -d /run/nfs-made {IMAGE} && printf %s {shlex.quote(STAND_IN)} > /sbin/mount.nfs && "
        f"chmod +x /sbin/mount.nfs && printf %s {shlex.quote(given)} > {CONFIG}"
    )
    sh.name = name
    yield sh
    sh(
        f"printf %s {shlex.quote(before)} > {CONFIG}; for pid in $(pgrep -x fuse2fs); do kill -KILL $pid; done; true"
    )
    sh(f"umount -l {nfs.RUN}/{NAME} 2>/dev/null; rm -rf /sbin/mount.nfs /run/nfs-made {IMAGE} {DEAD}")


def pod(volumes, name, node, **options):
    given = {"kind": "nfs", "server": SERVER, "path": PATH, "access": "ro", **options}
    flex = {"driver": "avadm/volume", "readOnly": True, "options": given}
    one = {"name": "one", "image": volumes.image, "command": ["sh", "-c", ASKS]}
    one["volumeMounts"] = [{"name": NAME, "mountPath": "/data"}]
    spec = {"nodeName": node, "containers": [one], "terminationGracePeriodSeconds": 0}
    meta = {"name": name, "namespace": volumes.space}
    spec["volumes"] = [{"name": NAME, "flexVolume": flex}]
    volumes.kube.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def shown(sh):
    return [line.split()[1] for line in sh("cat /proc/mounts").splitlines() if NAME in line]


def silent(sh, dead):
    sh(
        f"{'touch' if dead else 'rm -f'} {DEAD}; for pid in $(pgrep -x fuse2fs); do kill -{'STOP' if dead else 'CONT'} $pid; done"
    )


def test_pods_read_it_and_go_although_its_server_is_dead(volumes, node, tried):
    tried(
        "NFS folder",
        "its server falls silent under two pods",
        "both go; the next one is refused with the reason",
    )
    for name in ("first", "second"):
        pod(volumes, name, node.name)
    for name in ("first", "second"):
        volumes.up(name)
        assert volumes.must(name, "cat /data/word") == "hello\n"
        assert "Read-only" in volumes.inside(name, "echo x > /data/word").stderr
    assert len(shown(node)) == 3, "one mount, shown to two pods"
    silent(node, True)
    try:
        node(f"python3 -c {shlex.quote(WATCH.replace('LOOKS', str(nfs.MISSES)))}")
        assert not [path for path in shown(node) if path.startswith(nfs.RUN)]
        began = time.monotonic()
        volumes.drop("first")
        print(f"gone after {time.monotonic() - began:.1f} s although its server is silent")
        pod(volumes, "third", node.name)
        assert volumes.event("third", "Connection timed out")
        assert not volumes.is_up("third")
    finally:
        silent(node, False)
    # Who had it keeps it, and reads on.
    assert volumes.must("second", "cat /data/word") == "hello\n"
    for name in ("second", "third"):
        volumes.drop(name)
    assert not [path for path in shown(node) if "/pods/" in path]


@pytest.mark.parametrize(
    "options", [{"server": "other.test"}, {"path": "/export/../etc"}, {"access": "rw"}], ids=str
)
def test_another_server_a_way_out_and_writing_are_refused_by_the_node_itself(volumes, node, options):
    pod(volumes, "hostile", node.name, **options)
    try:
        assert volumes.event("hostile", "mount command failed", 60)
        assert not volumes.is_up("hostile")
        assert shown(node) == []
    finally:
        volumes.drop("hostile")
