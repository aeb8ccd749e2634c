"""Disks that bear OSDs, and a cluster and a node's commands that record their calls."""

import json
from pathlib import Path

from ansible.module_utils.avadm_node.probes.disks import naming, ownership

MIB = 1 << 20
OURS, THEIRS, UUID = "our-cluster", "their-cluster", "11111111-2222-3333-4444-555555555555"
APPROVED = {"by_id": "/dev/disk/by-id/scsi-DISK_S1", "device_class": "ssd"}
DONE = {"ceph_fsid": OURS, "whoami": "7", "ready": "ready"}


def osd_on(machine, **label):
    """Let the disk bear a bluestore label."""
    node = machine.add_disk()
    with node.open("r+b") as stream:
        stream.write(b"bluestore block device\n")
    text = json.dumps({str(node): {"osd_uuid": UUID, "osd_key": "SECRET", **label}})
    machine.answers["ceph-bluestore-tool"] = (0, text, "")
    machine.busy.add(str(node))


def volume_on(machine, node, cluster=OURS, label=None):
    """Let a disk carry a logical volume with ceph-volume's tags, and with a bluestore label on it if given."""
    with node.open("r+b") as stream:
        stream.seek(512)
        stream.write(b"LABELONE")
    volume = machine.add_disk("vg/osd-block-4", "253:0", None)
    if label is not None:
        volume.write_bytes(b"bluestore block device\n" + bytes(MIB))
        machine.answers["ceph-bluestore-tool"] = (0, json.dumps({str(volume): label}), "")
    tags = {"ceph.type": "block", "ceph.osd_id": "4", "ceph.osd_fsid": UUID, "ceph.cluster_fsid": cluster}
    listed = {"4": [{"tags": tags, "lv_path": "/dev/vg/osd-block-4"}]}
    machine.answers["ceph-volume"] = (0, json.dumps(listed), "")


def judge(machine, journal=None, fsid=OURS, approved=APPROVED):
    (device,) = naming.survey(machine, [approved])
    state, osd = ownership.judge(machine, device, fsid, journal or {}, MIB)
    return state, osd, device


class Ceph:
    """The cluster and the node's commands: one id for one UUID; writes an OSD unless set to fail."""

    def __init__(self, machine):
        self.machine, self.ids, self.calls = machine, {}, []
        self.mkfs = [0]
        self.state = "active"
        self.destroyed = set()
        self.active = set()
        self.fails = {}

    def __call__(self, argv, data=None):
        self.calls.append((argv, data))
        if argv[0] == "ceph" and argv[1] == "daemon":
            status = {"cluster_fsid": OURS, "state": self.state}
            return 0, json.dumps(status), ""
        if argv[0] == "ceph" and "new" in argv:
            uuid, wanted = argv[argv.index("new") + 1 :][:2]
            if wanted != "-i" and (uuid, data) not in self.ids:
                if int(wanted) not in self.destroyed:
                    return 17, "", f"Error EEXIST: osd.{wanted} exists and is not destroyed"
                self.destroyed.remove(int(wanted))
                self.ids[uuid, data] = int(wanted)
            return 0, f"{self.ids.setdefault((uuid, data), len(self.ids))}\n", ""
        if argv[0] == "ceph":
            Path(argv[argv.index("-o") + 1]).touch()
        if argv[:3] == ["ceph-volume", "lvm", "create"] and not self.mkfs[0]:
            volume_on(self.machine, Path(self.machine.path("/dev/sdb")), label=DONE)
        if argv[0] == "lvchange":
            volume_on(self.machine, Path(self.machine.path("/dev/sdb")), label=DONE)
        if argv[0] == "lvs":
            return 0, "  VOL-UUID\n", ""
        if argv[0] in self.fails:
            return 5, "", self.fails[argv[0]]
        if argv[0] == "ceph-authtool":
            return 0, "KEY==\n", ""
        if argv[0] == "ceph-osd":
            return self.mkfs.pop(0) if len(self.mkfs) > 1 else self.mkfs[0], "", "boom"
        if argv[0] == "systemctl" and argv[1] in ("is-enabled", "is-active"):
            up = argv[2] in self.active
            return (0 if up else 1), ("active" if up else "inactive"), ""
        if argv[0] == "systemctl" and argv[1] == "start":
            self.active.add(argv[2])
        return 0, "", ""

    def calls_of(self, program):
        return [(argv, data) for argv, data in self.calls if argv[0] == program]
