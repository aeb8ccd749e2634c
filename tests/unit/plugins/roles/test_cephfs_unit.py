"""ceph_client's unit: what it unmounts before it mounts."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

TEMPLATE = Path(__file__).parents[4] / "roles/ceph_client/templates/avadm-cephfs.service.j2"
VARIABLES = {
    "ceph_client_fs": "cephfs",
    "ceph_client_mount": "/data",
    "ceph_client_kind": "fuse",
    "ceph_client_entity": "client.cephfs",
}


def unit(**more):
    templar = Templar(DataLoader(), variables=VARIABLES | more)
    templar.environment.trim_blocks = True
    return templar.template(TEMPLATE.read_text(), convert_data=False)


def test_a_mount_by_the_kernel_finds_its_key_in_every_release():
    """mount.ceph of 13.2 reads no keyring: without secretfile it mounts as nobody, and is refused."""
    text = unit(ceph_client_kind="kernel", ceph_client_monitors=["10.0.0.1", "10.0.0.2"])
    (line,) = re.findall(r"^ExecStart=/bin/mount -t ceph (\S+):/ /data -o (\S+)$", text, re.M)
    assert line[0] == "10.0.0.1,10.0.0.2"
    options = dict(o.partition("=")[::2] for o in line[1].split(","))
    assert options["name"] == "cephfs"
    tasks = yaml.safe_load((TEMPLATE.parents[1] / "tasks/configure.yml").read_text())
    (written,) = [t for t in tasks if t.get("when") == "ceph_client_kind == 'kernel'"]
    (file,) = written["avadm_files"]["files"]
    assert file["path"].replace("{{ ceph_client_entity }}", "client.cephfs") == options["secretfile"]
    assert (file["mode"], "secret" in file) == ("0600", True)


@pytest.fixture
def start(tmp_path):
    """Return a function: what the unit's first step does where a file system of a type is mounted."""

    def run(kind):
        text = unit()
        found = re.search(r"^ExecStartPre=-?(?:/bin/sh -c '(.*)'|(.*))$", text, re.M)
        command = (found[1] or Path(found[2]).name).replace("$$", "$")
        (tmp_path / "findmnt").write_text(f"#!/bin/sh\n[ $# -eq 4 ] && [ $4 = /data ] && echo '{kind}'\n")
        (tmp_path / "umount").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/unmounted\n')
        for name in ("findmnt", "umount"):
            (tmp_path / name).chmod(0o755)
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, (tmp_path / "unmounted").exists()

    return run


@pytest.mark.parametrize("kind", ["fuse.ceph-fuse", "fuse.ceph", "ceph"])
def test_what_ceph_left_is_unmounted(start, kind):
    done, unmounted = start(kind)
    assert (done.returncode, unmounted) == (0, True)


def test_an_empty_mount_point_is_left_alone(start):
    done, unmounted = start("")
    assert (done.returncode, unmounted) == (0, False)


@pytest.mark.parametrize("kind", ["xfs", "ext4", "nfs4"])
def test_a_file_system_of_the_node_is_never_unmounted(start, kind):
    done, unmounted = start(kind)
    assert (done.returncode, unmounted) == (1, False)
    assert f"/data is the mount point of a file system of type {kind}" in done.stderr


def test_the_wait_for_the_mount_ends_when_ceph_fuse_has_given_up(tmp_path):
    post = re.search(r"^ExecStartPost=/bin/sh -c '(.*)'$", TEMPLATE.read_text(), re.M)
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
