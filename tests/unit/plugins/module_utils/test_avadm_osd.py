"""ownership and avadm_ceph_osd: whose a device is, and how an OSD's making is begun, cut off and finished."""

import json
from pathlib import Path

import pytest
from ansible.module_utils import avadm_osd_maker
from ansible.module_utils.avadm_node.probes.disks import naming, ownership
from fake_osd import APPROVED, DONE, MIB, OURS, THEIRS, UUID, judge, osd_on


def test_a_blank_disk(machine):
    machine.add_disk()
    assert judge(machine)[:2] == ("blank", None)


def test_an_osd_of_this_cluster_is_done_though_its_daemon_has_it_open(machine):
    osd_on(machine, **DONE)
    state, osd, device = judge(machine)
    assert (state, osd) == ("osd", {"id": 7, "fsid": UUID, "cluster": OURS})
    assert "SECRET" not in json.dumps(ownership.describe(device, state, osd))


@pytest.mark.parametrize("fsid", [OURS, ""])
def test_an_osd_of_another_cluster_is_refused(machine, fsid):
    osd_on(machine, **{**DONE, "ceph_fsid": THEIRS})
    state, _osd, device = judge(machine, fsid=fsid)
    assert state == "refused"
    assert f"osd.7 ({UUID}) of another ceph cluster, {THEIRS}" in device.reasons[0]


@pytest.mark.parametrize(
    "label", [{**DONE, "ceph_fsid": THEIRS}, {"ceph_fsid": THEIRS}, {"ready": "ready", "whoami": "7"}]
)
def test_an_osd_of_another_cluster_is_never_unfinished_whatever_the_journal_says(machine, label):
    osd_on(machine, **label)
    machine.busy.clear()
    entry = {"uuid": UUID, "id": 3, "path": APPROVED["by_id"], "key": "k", "class": ""}
    assert judge(machine, {UUID: entry})[0] == "refused"


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


def test_all_refused_devices_and_reasons_come_in_one_text(machine):
    machine.write("/proc/swaps", "F\n/dev/sdb p 1 0 -2\n")
    machine.add_disk()
    devices = naming.survey(machine, [APPROVED, {"serial": "NONE"}])
    for device in devices:
        ownership.judge(machine, device, OURS, {}, MIB)
    text = ownership.refusals(devices)
    assert "scsi-DISK_S1" in text
    assert "is used as swap" in text
    assert "serial NONE no such device" in text


def test_an_osd_is_made_with_its_class_and_started(machine, node):
    machine.add_disk()
    ceph, maker, apply, state = node
    assert apply() == (True, [0], [0])
    ((_argv, secrets),) = [c for c in ceph.calls_of("ceph") if "new" in c[0]]
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
    assert {argv[argv.index("new") + 1] for argv, _d in ceph.calls_of("ceph") if "new" in argv} == {uuid}
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
    assert ceph.calls_of("ceph-osd") == []


def test_a_done_osd_is_only_started_and_a_second_run_changes_nothing(machine, node):
    osd_on(machine, **DONE)
    ceph, _maker, apply, state = node
    folder = state / "osd-7"
    folder.mkdir(parents=True)
    for name in ("keyring", "fsid"):
        (folder / name).write_text("x\n")
    assert apply() == (True, [], [7])
    assert apply() == (False, [], [])
    assert ceph.calls_of("ceph-osd") == []


def test_an_osd_of_a_node_that_was_installed_again_gets_its_folder_back(machine, node):
    osd_on(machine, **DONE)
    ceph, _maker, apply, _state = node
    apply()
    assert [argv[1] for argv, _d in ceph.calls_of("ceph-bluestore-tool")] == ["prime-osd-dir"]


def test_an_osd_that_does_not_come_up_is_reported(machine, node):
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
    assert ceph.calls_of("ceph-osd") == []


def test_a_link_that_leads_elsewhere_by_now_is_not_written_through(machine, node):
    machine.add_disk()
    other = machine.add_disk("sdc", "8:32", None)
    ceph, maker, apply, _state = node
    run = maker.run_command

    def meanwhile(argv, data):
        if argv[0] == "udevadm":
            link = Path(machine.path(APPROVED["by_id"]))
            link.unlink()
            link.symlink_to(other)
        return run(argv, data)

    maker.run_command = meanwhile
    with pytest.raises(avadm_osd_maker.OsdError, match="no longer leads to"):
        apply()
    assert ceph.calls_of("ceph-osd") == []
