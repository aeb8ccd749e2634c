"""naming: one name, one disk, and the same one all the time."""

import os
from pathlib import Path

import pytest
from ansible.module_utils.avadm_node.probes.disks import blank, content, naming

MIB = 1 << 20
GIB = 1 << 30
BY_ID = "/dev/disk/by-id/scsi-DISK_S1"


@pytest.fixture
def looked(machine):
    """The disk as it was found at the first look."""
    machine.add_disk()
    machine.write("/sys/dev/block/8:16/diskseq", "7")
    (device,) = naming.survey(machine, [{"by_id": BY_ID}])
    return device


def test_a_second_path_to_the_approved_disk(machine, reasons):
    machine.add_disk(serial="S1")
    machine.add_disk("sdc", "8:32", None, serial="S1")
    assert "has the serial and WWN of sdc as well" in reasons(machine)[0]


def test_namespaces_of_one_controller_share_a_serial_and_are_two_disks(machine, reasons):
    machine.add_disk("nvme0n1", "259:0", "scsi-DISK_S1", serial="S1")
    machine.add_disk("nvme0n2", "259:1", None, serial="S1")
    machine.write("/sys/dev/block/259:0/wwid", "eui.0000000000000001")
    machine.write("/sys/dev/block/259:1/wwid", "eui.0000000000000002")
    assert reasons(machine) == []
    assert "several devices match: nvme0n1, nvme0n2" in reasons(machine, serial="S1")[0]


def test_a_multipath_device_made_of_the_disk_is_reported_as_its_holder(machine, reasons):
    machine.add_disk(serial="S1")
    machine.add_disk("dm-0", "253:0", None, serial="S1")
    machine.write("/sys/dev/block/253:0/slaves/sdb", "")
    machine.write("/sys/dev/block/8:16/holders/dm-0", "")
    assert reasons(machine) == ["is used by dm-0"]


@pytest.mark.parametrize("shown_serial", ["A B\x01C", " A B\x01C  ", "a b\x02C"])
def test_a_serial_with_blanks_and_unprintables_is_found_as_udev_writes_it(machine, reasons, shown_serial):
    machine.add_disk(link="scsi-DISK_A_B_C", serial=shown_serial)
    assert reasons(machine, serial="A_B_C") == []


def test_serials_that_udev_writes_alike_are_several(machine, reasons):
    machine.add_disk(link=None, serial="A B")
    machine.add_disk("sdc", "8:32", None, serial="A_B")
    assert "several devices match" in reasons(machine, serial="A B")[0]


def test_a_loop_device_on_the_disk(machine, reasons):
    machine.add_disk()
    machine.write("/sys/class/block/loop0/loop/backing_file", "/dev/sdb\n")
    assert reasons(machine) == ["is used by loop0"]


def test_a_loop_device_on_the_disk_made_in_another_container(machine, reasons):
    machine.add_disk()
    Path(machine.path("/dev/sdb")).rename(machine.path("/dev/other"))
    Path(machine.path(BY_ID)).unlink()
    Path(machine.path(BY_ID)).symlink_to("../../other")
    machine.numbers[machine.path("/dev/other")] = "8:16"
    machine.write("/sys/class/block/loop0/loop/backing_file", "/dev/sdb")
    assert reasons(machine) == ["is used by loop0"]


def test_what_is_opened_is_another_device(machine, looked):
    other = machine.add_disk("sdc", "8:32", None)
    machine.open = lambda path, flags: os.open(other, os.O_RDONLY)
    blank.probe(machine, looked, MIB)
    assert "opens as another device, 8:32" in looked.reasons


def moved(machine):
    Path(machine.path(BY_ID)).unlink()
    machine.add_disk("sdc", "8:32", "scsi-DISK_S1")


def renumbered(machine):
    machine.write("/sys/dev/block/8:16/diskseq", "9")


@pytest.mark.parametrize(("change", "another"), [(moved, True), (renumbered, True), (bool, False)])
def test_a_disk_is_the_same_later_or_it_is_reported(machine, looked, change, another):
    """The link leads elsewhere, another disk has the number, or nothing has changed."""
    change(machine)
    naming.recheck(machine, looked)
    assert any("is another device than the one looked at before" in r for r in looked.reasons) is another
    assert bool(looked.reasons) is another


@pytest.mark.parametrize("offset", [GIB, 10 * GIB, 100 * GIB, 1000 * GIB])
def test_each_copy_of_a_ceph_label_is_looked_for(tmp_path, offset):
    path = tmp_path / "disk"
    with path.open("wb") as stream:
        stream.truncate(2048 * GIB)
        stream.seek(offset)
        stream.write(b"bluestore block device\n")
    with path.open("rb") as stream:
        assert content.signatures(stream.fileno()) == ["a copy of a ceph OSD's label"]
        assert any(a <= offset < a + n for a, n in content.regions(2048 * GIB))
