"""ceph_client's unit: what it unmounts before it mounts."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.unit.fakes.roles import ROLES, service, template, variables, written
from tests.unit.fakes.running import sh, stub

UNIT = "ceph_client/templates/avadm-cephfs.service.j2"
VARIABLES = {
    "ceph_client_fs": "cephfs",
    "ceph_client_mount": "/data",
    "ceph_client_kind": "fuse",
    "ceph_client_entity": "client.cephfs",
}


def unit(**more):
    return template(UNIT, **VARIABLES | more)


def test_a_mount_by_the_kernel_finds_its_key_in_every_release():
    """mount.ceph of 13.2 reads no keyring: without secretfile it mounts as no one, and is refused."""
    text = unit(ceph_client_kind="kernel", ceph_client_monitors=["10.0.0.1", "10.0.0.2"])
    (line,) = re.findall(r"^ExecStart=/bin/mount -t ceph (\S+):/ /data -o (\S+)$", text, re.M)
    assert line[0] == "10.0.0.1,10.0.0.2"
    options = dict(o.partition("=")[::2] for o in line[1].split(","))
    assert options["name"] == "cephfs"
    files = service("ceph_client", "avadm-cephfs")["files"]
    have = variables("ceph_client") | VARIABLES | {"ceph_client_key": "k"}
    file = written(files, **have | {"ceph_client_kind": "kernel"})[options["secretfile"]]
    assert (file["mode"], file["secret"]) == ("0600", "k")
    assert options["secretfile"] not in written(files, **have)


@pytest.mark.parametrize("kind", ["fuse", "kernel"])
def test_a_mount_is_not_taken_from_its_users_for_any_file(kind):
    given = service("ceph_client", "avadm-cephfs")
    have = variables("ceph_client") | VARIABLES | {"ceph_client_key": "k", "ceph_client_kind": kind}
    made = written(given["files"], **have)
    assert {one["on_change"] for one in made.values()} == {"none"}
    assert not {"settings", "restart_on", "reload_on"} & given.keys()
    assert made["/etc/ceph/ceph.client.cephfs.keyring"]["secret"] == "[client.cephfs]\n\tkey = k\n"


@pytest.fixture
def start(tmp_path):
    """Return a function: what the unit's first step does where a file system of a type is mounted."""

    def run(kind):
        text = unit()
        found = re.search(r"^ExecStartPre=-?(?:/bin/sh -c '(.*)'|(.*))$", text, re.M)
        command = (found[1] or Path(found[2]).name).replace("$$", "$")
        stub(tmp_path / "findmnt", f"[ $# -eq 4 ] && [ $4 = /data ] && echo '{kind}'")
        stub(tmp_path / "umount", f'echo "$@" > {tmp_path}/unmounted')
        done = sh("/bin/sh", "-c", command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
        return done, (tmp_path / "unmounted").exists()

    return run


@pytest.mark.parametrize(
    ("kind", "wanted"), [("fuse.ceph-fuse", True), ("fuse.ceph", True), ("ceph", True), ("", False)]
)
def test_what_ceph_left_is_unmounted_and_an_empty_mount_point_left_alone(start, kind, wanted):
    done, unmounted = start(kind)
    assert (done.returncode, unmounted) == (0, wanted)


@pytest.mark.parametrize("kind", ["xfs", "ext4", "nfs4"])
def test_a_file_system_of_the_node_is_never_unmounted(start, kind):
    done, unmounted = start(kind)
    assert (done.returncode, unmounted) == (1, False)
    assert f"/data is the mount point of a file system of type {kind}" in done.stderr


def test_the_wait_for_the_mount_ends_when_ceph_fuse_has_given_up(tmp_path):
    post = re.search(r"^ExecStartPost=/bin/sh -c '(.*)'$", (ROLES / UNIT).read_text(), re.M)
    assert post
    command = post[1].replace("$$", "$").replace("{{ ceph_client_mount }}", str(tmp_path))
    main = subprocess.Popen(["sleep", "0.5"])
    waiting = subprocess.Popen(
        ["/bin/sh", "-c", command], env={"PATH": "/usr/bin:/bin", "MAINPID": str(main.pid)}
    )
    try:
        assert main.wait(10) == 0
        assert waiting.wait(10) == 1
    finally:
        waiting.kill()
        waiting.wait()
