"""avadm_osd and avadm_ceph_osd: whose a device is, and how an OSD's making is begun, cut off and finished."""

import json
from pathlib import Path

import avadm_ceph_osd
import pytest
from ansible.module_utils import avadm_disks, avadm_osd, avadm_osd_maker

MIB = 1 << 20
OURS, THEIRS, UUID = "our-cluster", "their-cluster", "11111111-2222-3333-4444-555555555555"
APPROVED = {"by_id": "/dev/disk/by-id/scsi-DISK_S1", "device_class": "ssd"}


def osd_on(machine, **label):
    """Let the disk bear a bluestore label."""
    node = machine.add_disk()
    with node.open("r+b") as stream:
        stream.write(b"bluestore block device\n")
    text = json.dumps({str(node): {"osd_uuid": UUID, "osd_key": "SECRET", **label}})
    machine.answers["ceph-bluestore-tool"] = (0, text, "")
    machine.busy.add(str(node))


def judge(machine, journal=None, fsid=OURS, approved=APPROVED):
    (device,) = avadm_disks.survey(machine, [approved])
    state, osd = avadm_osd.judge(machine, device, fsid, journal or {}, MIB)
    return state, osd, device


DONE = {"ceph_fsid": OURS, "whoami": "7", "ready": "ready"}


def test_a_blank_disk(machine):
    machine.add_disk()
    assert judge(machine)[:2] == ("blank", None)


def test_an_osd_of_this_cluster_is_done_though_its_daemon_has_it_open(machine):
    osd_on(machine, **DONE)
    state, osd, device = judge(machine)
    assert (state, osd) == ("osd", {"id": 7, "fsid": UUID, "cluster": OURS})
    assert "SECRET" not in json.dumps(avadm_osd.describe(device, state, osd))


@pytest.mark.parametrize("fsid", [OURS, ""])
def test_an_osd_of_another_cluster_is_refused(machine, fsid):
    osd_on(machine, **{**DONE, "ceph_fsid": THEIRS})
    state, _osd, device = judge(machine, fsid=fsid)
    assert state == "refused"
    assert f"osd.7 ({UUID}) of another ceph cluster, {THEIRS}" in device.reasons[0]


def test_an_osd_half_made_by_someone_else_is_refused(machine):
    osd_on(machine)
    assert judge(machine)[0] == "refused"


def test_an_osd_half_made_by_us_is_gone_on_with(machine):
    osd_on(machine)
    machine.busy.clear()
    entry = {"uuid": UUID, "id": 3, "path": APPROVED["by_id"], "key": "k", "class": ""}
    assert judge(machine, {UUID: entry})[:2] == ("unfinished", {"id": 3, "fsid": UUID, "cluster": OURS})


def test_an_osd_that_is_still_being_made_is_refused(machine):
    osd_on(machine)
    state, _osd, device = judge(machine, {UUID: {"uuid": UUID, "id": 3}})
    assert (state, "is in use" in device.reasons[0]) == ("refused", True)


def test_a_label_that_cannot_be_read_is_a_refusal(machine):
    osd_on(machine)
    machine.answers["ceph-bluestore-tool"] = (1, "", "unable to read label")
    state, _osd, device = judge(machine)
    assert (state, "unable to read label" in device.reasons[0]) == ("refused", True)


@pytest.mark.parametrize("cluster,state", [(OURS, "osd"), (THEIRS, "refused")])
def test_an_osd_on_a_logical_volume(machine, cluster, state):
    node = machine.add_disk()
    with node.open("r+b") as stream:
        stream.seek(512)
        stream.write(b"LABELONE")
    tags = {"ceph.type": "block", "ceph.osd_id": "4", "ceph.osd_fsid": UUID, "ceph.cluster_fsid": cluster}
    machine.answers["ceph-volume"] = (0, json.dumps({"4": [{"tags": tags}]}), "")
    assert judge(machine)[0] == state


def test_all_refused_devices_and_reasons_come_in_one_text(machine):
    machine.write("/proc/swaps", "F\n/dev/sdb p 1 0 -2\n")
    machine.add_disk()
    devices = avadm_disks.survey(machine, [APPROVED, {"serial": "NONE"}])
    for device in devices:
        avadm_osd.judge(machine, device, OURS, {}, MIB)
    text = avadm_osd.refusals(devices)
    assert "scsi-DISK_S1" in text
    assert "is used as swap" in text
    assert "serial NONE no such device" in text


class Ceph:
    """The cluster and the node's commands: one id for one UUID; writes an OSD unless told to fail."""

    def __init__(self, machine):
        self.machine, self.ids, self.calls = machine, {}, []
        self.mkfs = [0]
        self.state = "active"
        self.active = set()

    def __call__(self, argv, data=None):
        self.calls.append((argv, data))
        if argv[0] == "ceph" and argv[1] == "daemon":
            status = {"cluster_fsid": OURS, "state": self.state}
            return 0, json.dumps(status), ""
        if argv[0] == "ceph" and "new" in argv:
            uuid = argv[argv.index("new") + 1]
            return 0, f"{self.ids.setdefault((uuid, data), len(self.ids))}\n", ""
        if argv[0] == "ceph":
            Path(argv[argv.index("-o") + 1]).touch()
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

    def told(self, program):
        return [(argv, data) for argv, data in self.calls if argv[0] == program]


@pytest.fixture
def node(machine, tmp_path, monkeypatch):
    state = tmp_path / "state"
    monkeypatch.setattr(avadm_osd_maker, "BOOTSTRAP", str(state / "bootstrap"))
    monkeypatch.setattr(avadm_osd_maker, "DATA", str(state / "osd-%d"))
    monkeypatch.setattr(avadm_osd_maker, "DROPIN", str(state / "dropin"))
    monkeypatch.setattr(avadm_osd_maker, "ceph_owns", lambda device, folder: None)
    ceph = Ceph(machine)
    ticks = iter(range(10**6))
    maker = avadm_osd_maker.Maker(
        machine, ceph, avadm_osd.Journal(str(state / "journal")), MIB, lambda: next(ticks), lambda s: None
    )
    given = {"backend": "raw", "bootstrap_key": "BK", "fsid": OURS, "timeout": 5}

    def apply():
        entries = maker.journal.entries()
        (device,) = avadm_disks.survey(machine, [APPROVED])
        judged = [(device, *avadm_osd.judge(machine, device, OURS, entries, MIB))]
        return avadm_ceph_osd.ensure(maker, given, judged, entries, lambda: 0)

    return ceph, maker, apply, state


def test_an_osd_is_made_with_its_class_and_started(machine, node):
    machine.add_disk()
    ceph, maker, apply, state = node
    assert apply() == (True, [0], [0])
    ((_argv, secrets),) = [c for c in ceph.told("ceph") if "new" in c[0]]
    assert json.loads(secrets) == {"cephx_secret": "KEY==", "crush_device_class": "ssd"}
    assert str((state / "osd-0/block").readlink()) == APPROVED["by_id"]
    assert maker.journal.entries() == {}


def test_no_secret_is_ever_an_argument(machine, node):
    machine.add_disk()
    ceph, _maker, apply, _state = node
    apply()
    arguments = " ".join(word for argv, _data in ceph.calls for word in argv)
    assert "KEY==" not in arguments
    assert "BK" not in arguments


def test_a_cut_while_writing_is_gone_on_with_under_the_same_id(machine, node):
    machine.add_disk()
    ceph, maker, apply, _state = node
    ceph.mkfs = [-9, 0]
    with pytest.raises(avadm_osd_maker.OsdError, match="writing the OSD failed"):
        apply()
    (uuid,) = maker.journal.entries()
    assert apply()[1] == [0]
    assert {argv[argv.index("new") + 1] for argv, _d in ceph.told("ceph") if "new" in argv} == {uuid}
    assert len(ceph.ids) == 1


def test_a_device_that_changed_since_the_first_look_is_not_written(machine, node, monkeypatch):
    disk = machine.add_disk()
    ceph, maker, apply, _state = node
    begin = maker.begin

    def meanwhile(device):
        with disk.open("r+b") as stream:
            stream.write(b"XFSB")
        return begin(device)

    monkeypatch.setattr(maker, "begin", meanwhile)
    with pytest.raises(avadm_osd_maker.OsdError, match="no longer blank: bears the signature of an XFS"):
        apply()
    assert ceph.told("ceph-osd") == []


def test_a_done_osd_is_only_started_and_a_second_run_changes_nothing(machine, node):
    osd_on(machine, **DONE)
    ceph, _maker, apply, state = node
    folder = state / "osd-7"
    folder.mkdir(parents=True)
    for name in ("keyring", "fsid"):
        (folder / name).write_text("x\n")
    assert apply() == (True, [], [7])
    assert apply() == (False, [], [])
    assert ceph.told("ceph-osd") == []


def test_an_osd_of_a_node_that_was_installed_anew_gets_its_folder_back(machine, node):
    osd_on(machine, **DONE)
    ceph, _maker, apply, _state = node
    apply()
    assert [argv[1] for argv, _d in ceph.told("ceph-bluestore-tool")] == ["prime-osd-dir"]


def test_an_osd_that_does_not_come_up_is_told(machine, node):
    machine.add_disk()
    ceph, _maker, apply, _state = node
    ceph.state = "booting"
    with pytest.raises(avadm_osd_maker.OsdError, match=r"does not come up \(state booting\)"):
        apply()


def test_a_folder_of_another_osd_is_not_written_over(machine, node):
    machine.add_disk()
    ceph, _maker, apply, state = node
    (state / "osd-0").mkdir(parents=True)
    (state / "osd-0/fsid").write_text("someone\n")
    with pytest.raises(avadm_osd_maker.OsdError, match="belongs to another OSD"):
        apply()
    assert ceph.told("ceph-osd") == []
