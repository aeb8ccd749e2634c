"""avadm_ceph_osd under a destroyed OSD's id: the id alone is taken over, the old folder moved away, nothing ever purged."""

import pytest
from ansible.module_utils import avadm_osd_maker
from fake_osd import APPROVED, OURS

NAMED = {APPROVED["by_id"]: 7}
lvm = pytest.mark.parametrize("node", ["lvm"], indirect=True)


def old_folder(state, number=7):
    folder = state / f"osd-{number}"
    folder.mkdir(parents=True)
    (folder / "fsid").write_text("old-uuid\n")
    (folder / "keyring").write_text("old key")
    return folder


def asked(ceph):
    return [argv for argv, _ in ceph.calls_of("ceph") if "new" in argv]


def test_a_raw_osd_takes_a_destroyed_id_and_its_folder(machine, node):
    machine.add_disk()
    ceph, maker, apply, state = node
    ceph.destroyed.add(7)
    folder = old_folder(state)
    assert apply(reused_ids=NAMED) == (True, [7], [7])
    assert asked(ceph)[0][-3:] == ["7", "-i", "-"]
    assert "old key" not in (folder / "keyring").read_text()
    assert (state / "journal/replaced-7-old-uuid/keyring").read_text() == "old key"
    assert maker.journal.entries() == {}


def test_an_id_that_is_not_destroyed_is_not_taken(machine, node):
    disk = machine.add_disk()
    ceph, _maker, apply, state = node
    folder = old_folder(state)
    with pytest.raises(avadm_osd_maker.OsdError, match="EEXIST"):
        apply(reused_ids=NAMED)
    assert (folder / "keyring").read_text() == "old key"
    assert disk.read_bytes() == bytes(disk.stat().st_size)
    assert ceph.calls_of("ceph-osd") == []


def test_a_device_that_is_not_named_gets_a_new_id(machine, node):
    machine.add_disk()
    ceph, _maker, apply, _state = node
    ceph.destroyed.add(7)
    assert apply(reused_ids={"/dev/disk/by-id/other": 7}) == (True, [0], [0])
    assert asked(ceph)[0][-2:] == ["-i", "-"]


def test_a_cut_while_writing_is_gone_on_with_under_the_same_id(machine, node):
    machine.add_disk()
    ceph, maker, apply, _state = node
    ceph.destroyed.add(7)
    ceph.mkfs = [1, 0]
    with pytest.raises(avadm_osd_maker.OsdError, match="writing the OSD failed"):
        apply(reused_ids=NAMED)
    [entry] = maker.journal.entries().values()
    assert entry["id"] == 7
    assert apply(reused_ids=NAMED) == (True, [7], [7])
    assert {argv[argv.index("new") + 1] for argv in asked(ceph)} == {entry["uuid"]}


@lvm
def test_an_lvm_osd_is_made_without_what_purges_and_zaps(machine, node):
    disk = machine.add_disk()
    machine.answers["ceph-volume"] = (0, "{}", "")
    ceph, maker, apply, state = node
    ceph.destroyed.add(7)
    old_folder(state)
    assert apply(reused_ids=NAMED) == (True, [7], [7])
    programs = ("vgcreate", "lvcreate", "ceph-osd", "lvchange", "ceph-volume")
    made = [argv for argv, _ in ceph.calls if argv[0] in programs]
    assert [argv[0] for argv in made] == list(programs)
    assert made[0][-1] == str(disk)
    uuid = asked(ceph)[0][asked(ceph)[0].index("new") + 1]
    assert made[-1] == ["ceph-volume", "lvm", "activate", "--bluestore", "7", uuid]
    tags = dict(w.split("=", 1) for w in made[3] if "=" in w)
    assert (tags["ceph.osd_id"], tags["ceph.osd_fsid"], tags["ceph.cluster_fsid"]) == ("7", uuid, OURS)
    assert (tags["ceph.block_uuid"], tags["ceph.type"]) == ("VOL-UUID", "block")
    words = {word for argv, _ in ceph.calls for word in argv}
    assert not words & {"purge-new", "zap", "create", "--force", "--yes"}
    assert maker.journal.entries() == {}
    assert not list((state / "journal").glob("made-*"))


@lvm
def test_an_lvm_osd_that_cannot_be_written_leaves_a_volume_without_tags(machine, node):
    machine.add_disk()
    machine.answers["ceph-volume"] = (0, "{}", "")
    ceph, _maker, apply, state = node
    ceph.destroyed.add(7)
    ceph.mkfs = [1]
    with pytest.raises(avadm_osd_maker.OsdError, match="writing the OSD failed"):
        apply(reused_ids=NAMED)
    assert ceph.calls_of("lvchange") == ceph.calls_of("ceph-volume") == []
    assert not list((state / "journal").glob("made-*"))


def test_no_secret_is_ever_an_argument(machine, node):
    machine.add_disk()
    ceph, _maker, apply, _state = node
    ceph.destroyed.add(7)
    apply(reused_ids=NAMED)
    assert not any("KEY==" in word for argv, _ in ceph.calls for word in argv)
