"""avadm_remount: what is older than its configuration is mounted again, what is in use stays."""

import os

import avadm_remount as remount
import pytest
from ansible.module_utils.avadm_daemon import Daemon

from tests.unit.fakes.running import module, stub

MOUNT = "36 25 0:77 / {} rw,relatime shared:9 - fuse.alluxio-fuse alluxio-fuse rw\n"
SHOW = "echo ActiveState=active; echo ExecMainStartTimestampMonotonic={}"


@pytest.fixture
def proc(tmp_path):
    """A tree like /proc with a mount at /mnt/a, and a process whose folder is the argument."""

    def make(folder="/", *more):
        for pid in ("self", "7"):
            home = tmp_path / "proc" / pid
            (home / "fd").mkdir(parents=True)
            (home / "ns").mkdir()
            (home / "ns/mnt").symlink_to("mnt:[1]")
            (home / "mountinfo").write_text("".join(MOUNT.format(path) for path in ("/mnt/a", *more)))
            (home / "cwd").symlink_to(folder)
        return str(tmp_path)

    return make


@pytest.mark.parametrize(
    ("folder", "more", "free"),
    [("/", (), True), ("/mnt/a/sets", (), False), ("/", ("/var/lib/kubelet/pods/1/a",), False)],
)
def test_what_is_in_use_is_not_unmounted(proc, folder, more, free):
    done, naps = [], []
    run = lambda argv: done.append(argv) or (0, "", "")  # noqa: E731
    assert remount.unmounted(run, "/mnt/a", proc(folder, *more), naps.append) == free
    assert done == ([["umount", "/mnt/a"]] if free else [])
    assert len(naps) == (0 if free else remount.TRIES - 1)


def test_what_is_opened_at_that_moment_stays(proc):
    assert not remount.unmounted(lambda _: (32, "", "target is busy"), "/mnt/a", proc(), lambda _: None)


def test_nothing_is_mounted(tmp_path, proc):
    assert remount.unmounted(pytest.fail, "/mnt/other", proc(), pytest.fail)


def test_the_service_of_a_mount_in_use_is_not_restarted(tmp_path):
    (tmp_path / "properties").touch()
    asked = []

    def run(argv):
        asked.append(argv[1])
        return 0, "ActiveState=active\nExecMainStartTimestampMonotonic=1\n", ""

    files = [str(tmp_path / "properties")]
    daemon = Daemon("cache", run)
    assert remount.ensure(daemon, "/mnt/a", files, lambda run, path: False) == (files, True)
    assert asked == ["show"]
    assert remount.ensure(daemon, "/mnt/a", files, lambda run, path: True) == (files, False)
    assert asked == ["show", "show", "restart"]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("newer", [False, True])
def test_the_service_is_restarted_where_its_configuration_is_newer(tmp_path, newer, check):
    files = [str(tmp_path / "properties")]
    (tmp_path / "properties").touch()
    if not newer:
        os.utime(files[0], (1, 1))
    # What is newer by its inode alone counts as well: started after all of this.
    moment = 1 if newer else 10**15
    env = stub(
        tmp_path / "bin/systemctl",
        f'case $1 in show) {SHOW.format(moment)} ;; *) echo "$@" >> {tmp_path}/done ;; esac',
    )
    given = {"name": "cache", "path": str(tmp_path / "mount"), "files": files, "_ansible_check_mode": check}
    report, reply = module("avadm_remount", env, **given)
    assert (report["changed"], report["left"]) == (newer, False), reply
    assert report["because"] == (files if newer else [])
    assert (tmp_path / "done").exists() == (newer and not check)
