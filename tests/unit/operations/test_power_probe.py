"""What runs on nodes when a site is powered down: units, containers, mounts of ceph, and the machine itself."""

from pathlib import Path

import pytest

from avadm_node.probes import power

FSID = "11111111-2222-3333-4444-555555555555"
MOUNTS = """22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /cephfs rw shared:2 - ceph 10.0.0.1:6789:/ rw
31 22 0:40 /a /var/lib/kubelet/pods/x/volumes/a rw shared:2 - ceph 10.0.0.1:6789:/ rw
32 22 251:0 / /var/lib/kubelet/pods/y/b\\040c rw - ext4 /dev/rbd0 rw
33 22 0:50 / /run/avadm/i.image rw - fuse.rbd-fuse rbd-fuse rw
34 22 7:3 / /mnt/loop rw - ext4 /dev/loop3 rw
35 22 7:4 / /mnt/other rw - ext4 /dev/loop4 rw
"""
LEFT = [
    "/cephfs",
    "/var/lib/kubelet/pods/x/volumes/a",
    "/var/lib/kubelet/pods/y/b c",
    "/run/avadm/i.image",
    "/mnt/loop",
]


class Fake(power.Machine):
    """A node below a folder; programs answer as `replies` say, by how the command begins, else with success."""

    def __init__(self, root):
        power.Machine.__init__(self, str(root))
        self.replies, self.ran, self.effects = {}, [], {}

    def write(self, path, text):
        at = Path(self.path(path))
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text, encoding="utf-8")

    def link(self, path, target):
        at = Path(self.path(path))
        at.parent.mkdir(parents=True, exist_ok=True)
        at.symlink_to(target)

    def run(self, argv, seconds=power.ASKED_S):
        line = " ".join(argv)
        self.ran.append(line)
        for start, effect in self.effects.items():
            if line.startswith(start):
                effect(line)
        return next((reply for start, reply in self.replies.items() if line.startswith(start)), (0, "", ""))


@pytest.fixture
def node(tmp_path):
    made = Fake(tmp_path)
    made.link("/proc/self/ns/mnt", "mnt:[1]")
    return made


def enable(node, *units, folder="/etc/systemd/system/multi-user.target.wants"):
    for unit in units:
        node.link(f"{folder}/{unit}", "/dev/null")


LIST = """ceph-osd@1.service loaded active running Ceph OSD
ceph-osd@2.service loaded activating auto-restart Ceph OSD
● ceph-osd@3.service loaded failed failed Ceph OSD
ceph-osd@4.service loaded inactive dead Ceph OSD
"""


def test_only_what_runs_is_stopped_and_nothing_is_waited_for(node):
    node.replies["systemctl list-units"] = (0, LIST, "")
    found = power.units({"do": "stop", "units": ["ceph-osd@*.service"]}, node)
    assert "systemctl stop --no-block ceph-osd@1.service ceph-osd@2.service" in node.ran
    assert set(found["running"]) == {"ceph-osd@1.service", "ceph-osd@2.service"}


def test_only_what_is_enabled_is_started_however_often_it_was_before(node):
    enable(node, "ceph-osd@1.service", "ceph-osd@3.service", "ceph-osd@5.service", "other.service")
    enable(node, "ceph-osd@6.service", folder="/run/systemd/system/ceph-osd.target.wants")
    node.replies["systemctl list-units"] = (0, LIST, "")
    found = power.units({"do": "start", "units": ["ceph-osd@*.service"]}, node)
    lacking = "ceph-osd@3.service ceph-osd@5.service ceph-osd@6.service"
    reset, start = f"systemctl reset-failed {lacking}", f"systemctl start --no-block {lacking}"
    assert [line for line in node.ran if line in (reset, start)] == [reset, start]
    assert found["missing"] == ["ceph-osd@3.service", "ceph-osd@5.service", "ceph-osd@6.service"]


def test_a_look_changes_nothing_and_jobs_that_end_by_themselves_are_seen(node):
    def listed(line):
        node.replies["systemctl list-units"] = (
            0,
            LIST if "osd" in line else "gc.service loaded activating start GC\n",
            "",
        )

    node.effects["systemctl list-units"] = listed
    found = power.units({"do": "look", "units": ["ceph-osd@*.service"], "ends": ["gc.service"]}, node)
    assert found["running"]["gc.service"] == "activating"
    assert not [line for line in node.ran if " stop" in line or " start" in line]


@pytest.mark.parametrize("do", ["look", "stop", "start"])
def test_systemd_that_does_not_answer_is_an_error_and_no_empty_list(node, do):
    enable(node, "etcd.service")
    node.replies["systemctl"] = (1, "", "Failed to connect to bus")
    found = power.units({"do": do, "units": ["etcd.service"]}, node)
    assert "Failed to connect to bus" in found["error"]


def test_containers_of_pods_alone_are_stopped(node):
    node.replies["docker ps"] = (0, "a1\nb2\n", "")

    def stopped(line):
        node.replies["docker ps"] = (0, "", "")

    node.effects["docker stop"] = stopped
    assert power.containers({"do": "look"}, node) == {"left": 2}
    assert power.containers({"do": "stop"}, node) == {"left": 0}
    assert "docker stop --time 30 a1 b2" in node.ran
    assert all("label=io.kubernetes.pod.name" in line for line in node.ran if line.startswith("docker ps"))


def test_a_node_without_docker_has_none_and_one_whose_docker_is_dead_is_not_known(node):
    node.replies["docker ps"] = (127, "", "timeout: failed to run command 'docker'")
    assert power.containers({"do": "stop"}, node) == {"left": 0}
    node.replies["docker ps"] = (1, "", "Cannot connect to the Docker daemon")
    assert "Cannot connect" in power.containers({"do": "stop"}, node)["error"]


def storage(node, do):
    given = {"do": do, "units": ["avadm-cephfs.service"], "mount": "/cephfs", "fsid": FSID}
    return power.storage(given, node)


@pytest.fixture
def mounted(node):
    node.write("/proc/self/mountinfo", MOUNTS)
    node.write("/sys/block/loop3/loop/backing_file", "/run/avadm/i.image/i\n")
    node.write("/sys/block/loop4/loop/backing_file", "/srv/disk.img\n")
    node.write("/sys/bus/rbd/devices/0/cluster_fsid", FSID + "\n")
    node.write("/sys/bus/rbd/devices/1/cluster_fsid", "99999999-2222-3333-4444-555555555555\n")
    node.replies["systemctl list-units"] = (0, "avadm-cephfs.service loaded active exited cephfs\n", "")

    def gone(line):
        point = line.partition(" ")[2]
        rows = list(node.read("/proc/self/mountinfo").split("\n"))
        kept = [row for row in rows if row.split()[4:5] != [point.replace(" ", "\\040")]]
        node.write("/proc/self/mountinfo", "\n".join(kept))

    node.effects["umount "] = gone
    node.effects["systemctl stop avadm-cephfs"] = lambda line: gone("umount /cephfs")
    return node


def test_only_what_needs_the_cluster_counts_and_a_look_changes_nothing(mounted):
    found = storage(mounted, "look")
    assert (found["mounts"], found["mapped"], found["holders"]) == (LEFT, ["/dev/rbd0"], [])
    assert mounted.ran == []


def test_what_was_mounted_last_is_unmounted_first_and_the_units_own_by_the_unit(mounted):
    found = storage(mounted, "release")
    assert (found["mounts"], found["failed"], found["holders"]) == ([], [], [])
    acted = [line for line in mounted.ran if not line.startswith("systemctl list")]
    assert acted == [
        "umount /mnt/loop",
        "umount /run/avadm/i.image",
        "umount /var/lib/kubelet/pods/y/b c",
        "umount /var/lib/kubelet/pods/x/volumes/a",
        "systemctl stop avadm-cephfs.service",
        "rbd unmap /dev/rbd0",
    ]


def test_a_mount_in_use_is_never_taken_away(mounted):
    mounted.write("/proc/77/comm", "bash\n")
    mounted.link("/proc/77/cwd", "/cephfs/home/ann")
    mounted.link("/proc/77/ns/mnt", "mnt:[1]")
    found = storage(mounted, "release")
    assert found["holders"] == ["bash (process 77) uses /cephfs"]
    assert found["mounts"] == LEFT
    assert not [line for line in mounted.ran if "umount" in line or " stop " in line or "unmap" in line]


def test_a_path_that_only_begins_alike_is_no_use_of_it(mounted):
    mounted.write("/proc/77/comm", "bash\n")
    mounted.link("/proc/77/cwd", "/cephfs2/home")
    mounted.link("/proc/77/ns/mnt", "mnt:[1]")
    assert storage(mounted, "look")["holders"] == []


def test_a_mount_that_a_namespace_of_its_own_keeps_is_named(mounted):
    mounted.write("/proc/88/comm", "sandbox\n")
    mounted.link("/proc/88/ns/mnt", "mnt:[2]")
    mounted.write("/proc/88/mountinfo", MOUNTS)
    found = storage(mounted, "release")
    assert found["mounts"] == []
    assert found["holders"] == ["sandbox (process 88) has /cephfs in a mount namespace of its own"]


def test_why_it_could_not_be_unmounted_is_reported(mounted):
    mounted.effects.pop("umount ")
    mounted.replies["umount /mnt/loop"] = (32, "", "umount: /mnt/loop: target is busy")
    found = storage(mounted, "release")
    assert "/mnt/loop" in found["mounts"]
    assert "target is busy" in found["failed"][0]


@pytest.mark.parametrize(
    ("marker", "boot", "container", "ours"),
    [(True, "b2", 1, True), (False, "b1", 1, True), (False, "b1", 0, False), (False, "b2", 1, False)],
)
def test_the_machine_of_the_controller_is_known(node, marker, boot, container, ours):
    node.write("/proc/sys/kernel/random/boot_id", "b1\n")
    if marker:
        node.write("/tmp/avadm-x", "")
    node.replies["systemd-detect-virt"] = (container, "", "")
    assert power.identity({"marker": "/tmp/avadm-x", "boot": boot}, node) == {"ours": ours}


def test_a_machine_is_switched_off_once_and_after_its_reply(node):
    node.replies["systemctl is-active"] = (3, "", "")
    assert power.off({"seconds": 5}, node) == {"off": True}
    assert node.ran[-1] == "systemd-run --quiet --unit avadm-power-off --on-active=5 systemctl poweroff"
    node.replies["systemctl is-active"] = (0, "", "")
    count = len(node.ran)
    assert power.off({"seconds": 5}, node) == {"off": True}
    assert len(node.ran) == count + 1
    node.replies.update({"systemctl is-active": (3, "", ""), "systemd-run": (1, "", "Access denied")})
    assert "Access denied" in power.off({"seconds": 5}, node)["error"]


@pytest.mark.parametrize(
    ("text", "found"), [(f"[global]\nfsid = {FSID}\n", FSID), ("[global]\n", ""), ("fsid = x\n", "")]
)
def test_the_clusters_id_is_read_from_its_configuration(node, text, found):
    node.write("/etc/ceph/ceph.conf", text)
    assert power.fsid({}, node) == {"fsid": found}


def test_programs_are_run_within_a_time_and_their_failure_is_told_apart(tmp_path):
    machine = power.Machine(str(tmp_path))
    assert machine.run(["true"])[0] == 0
    assert machine.run(["sleep", "5"], 1)[0] == 124
    assert machine.run(["avadm-no-such-program"])[0] == 127
    with pytest.raises(power.PowerError):
        machine.must(["false"])
