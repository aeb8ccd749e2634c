"""blank: which device is meant, and each reason for which it is refused."""

import errno
import os
from itertools import pairwise
from pathlib import Path

import pytest
from ansible.module_utils.avadm_node.probes.disks import blank, content, naming

MIB = 1 << 20
BASE = "/sys/dev/block/8:16"
BY_ID = "/dev/disk/by-id/scsi-DISK_S1"


def put(node, offset, data):
    with node.open("r+b") as stream:
        stream.seek(offset)
        stream.write(data)


def test_a_blank_disk_is_accepted_and_left_as_it_is(machine, reasons):
    node = machine.add_disk()
    before = node.read_bytes(), node.stat().st_mtime_ns
    assert reasons(machine) == []
    assert (node.read_bytes(), node.stat().st_mtime_ns) == before


def test_an_erased_ssd_that_reads_as_ones_is_blank(machine, reasons):
    machine.add_disk().write_bytes(b"\xff" * 8 * MIB)
    assert reasons(machine) == []


@pytest.mark.parametrize("kind,value", [("serial", "s1"), ("serial", "S1"), ("by_id", BY_ID)])
def test_a_disk_is_found_by_any_identifier(machine, reasons, kind, value):
    machine.add_disk(serial="S1")
    assert reasons(machine, **{kind: value}) == []


def test_a_disk_is_found_by_its_wwn(machine, reasons):
    machine.add_disk(link="wwn-0x5000c500a1b2c3d4")
    machine.write(BASE + "/device/wwid", "naa.5000c500a1b2c3d4")
    assert reasons(machine, wwn="0x5000c500a1b2c3d4") == []


@pytest.mark.parametrize(
    ("own", "approved"),
    [("S1", {"serial": "S2"}), ("XS1", {"serial": "S1"}), ("S1", {"by_id": BY_ID, "serial": "S3"})],
    ids=["unknown", "its name only contains the serial", "identifiers of different disks"],
)
def test_another_disk_is_not_taken(machine, reasons, own, approved):
    machine.add_disk(link=f"scsi-DISK_{own}", serial=own)
    machine.add_disk("sdc", "8:32", "scsi-DISK_S3", serial="S3")
    assert reasons(machine, **approved) == ["no such device on this node"]


def test_two_paths_to_one_serial(machine, reasons):
    machine.add_disk(serial="S1")
    machine.add_disk("sdc", "8:32", None, serial="S1")
    assert "several devices match: sdb, sdc" in reasons(machine, serial="S1")[0]


def test_a_link_that_leads_to_another_disk(machine, reasons):
    machine.add_disk(serial="OTHER99")
    assert "the device says of itself: OTHER99" in reasons(machine)[0]


def test_a_dangling_link(machine, reasons):
    machine.add_disk().unlink()
    assert reasons(machine) == ["no such device on this node"]


def test_the_same_disk_approved_twice_is_refused_under_both_names(machine):
    machine.add_disk(serial="S1")
    devices = naming.survey(machine, [{"by_id": BY_ID}, {"serial": "S1"}])
    assert [d.reasons for d in devices] == [
        ["is the same device as serial S1"],
        [f"is the same device as by_id {BY_ID}"],
    ]


FOUND = {
    "a partition": ("partition", "1", "is a partition"),
    "partitions": ("sdb1/partition", "1", "has partitions: sdb1"),
    "a holder": ("holders/dm-0", "", "is used by dm-0"),
    "a device that it is made of": ("slaves/dm-0", "", "is made of dm-0"),
    "read-only by sysfs": ("ro", "1", "is read-only"),
    "sizes that differ": ("size", "1", f"has {8 * MIB} bytes, but sysfs says 1 sectors"),
    "swap": ("/proc/swaps", "Filename Type Size\n/dev/sdb partition 1 0 -2\n", "is used as swap"),
    # btrfs shows a number of its own.
    "mounted as btrfs": (
        "/proc/1/mountinfo",
        "9 1 0:40 / /d rw - btrfs /dev/sdb rw\n",
        "is mounted at /d (seen by process 1)",
    ),
}


@pytest.mark.parametrize("found", FOUND)
def test_what_the_kernel_tells_of_it_is_a_reason(machine, reasons, found):
    machine.add_disk()
    path, text, reason = FOUND[found]
    machine.write(path if path.startswith("/") else f"{BASE}/{path}", text)
    assert reasons(machine) == [reason]


def test_a_partition_of_it_is_mounted(machine, reasons):
    machine.add_disk()
    machine.write(BASE + "/sdb1/dev", "8:17")
    machine.write("/proc/1/mountinfo", "9 1 8:17 / /boot rw - ext4 /dev/sdb1 rw\n")
    assert "is mounted at /boot (seen by process 1)" in reasons(machine)


def test_mounted_in_any_namespace_that_is_seen(machine, reasons):
    machine.add_disk()
    machine.write("/proc/7/mountinfo", "9 1 8:16 / /data rw shared:1 - xfs /dev/sdb rw\n")
    Path(machine.path("/proc/7/ns")).mkdir()
    Path(machine.path("/proc/7/ns/mnt")).symlink_to("mnt:[2]")
    assert "is mounted at /data (seen by process 7)" in reasons(machine)


def process_with_a_handle(machine, target):
    """Add process 9 with one open handle; return its folder."""
    machine.write("/proc/9/comm", "qemu")
    machine.write("/proc/9/mountinfo", "")
    folder = Path(machine.path("/proc/9"))
    for name in ("ns", "fd"):
        (folder / name).mkdir()
    (folder / "ns/mnt").symlink_to("mnt:[1]")
    (folder / "fd/3").symlink_to(target)
    return folder


# A container has the node where it likes, and the kernel shows the path as the container sees it.
@pytest.mark.parametrize("target", ["/dev/sdb", "/data/disk0", "/data/disk0 (deleted)"])
def test_held_open_by_a_process_under_any_name(machine, reasons, target):
    machine.add_disk()
    process_with_a_handle(machine, target)
    original = machine.number
    machine.number = lambda path: "8:16" if "/proc/9/fd/3" in path else original(path)
    assert "is held open by qemu (pid 9)" in reasons(machine)


@pytest.mark.parametrize("target", ["socket:[1]", "pipe:[2]", "/var/log/gone"])
def test_other_open_files_are_no_reason(machine, reasons, target):
    machine.add_disk()
    process_with_a_handle(machine, target)
    assert reasons(machine) == []


@pytest.mark.parametrize(
    ("trouble", "refused"), [(errno.EACCES, True), (errno.EIO, True), (errno.ENOENT, False)]
)
def test_a_process_that_cannot_be_looked_at_proves_nothing_and_one_that_is_gone_does(
    machine, reasons, monkeypatch, trouble, refused
):
    machine.add_disk()
    folder = process_with_a_handle(machine, "socket:[1]") / "fd"
    real = os.listdir

    def listdir(path):
        if str(path) == str(folder):
            raise OSError(trouble, os.strerror(trouble))
        return real(path)

    monkeypatch.setattr(os, "listdir", listdir)
    assert any("the probe of its processes failed" in r for r in reasons(machine)) is refused


def test_the_kernel_does_not_lend_it(machine, reasons):
    machine.busy.add(str(machine.add_disk()))
    assert "is in use: the kernel refuses an exclusive open" in reasons(machine)[0]


def test_write_protected_by_its_own_word(machine, reasons):
    machine.protected.add(str(machine.add_disk()))
    assert reasons(machine) == ["is read-only"]


def test_too_small(machine):
    machine.add_disk()
    (device,) = naming.survey(machine, [{"by_id": BY_ID}])
    blank.probe(machine, device)
    assert device.reasons == ["is too small: 8 MiB, wanted 5120 MiB"]


@pytest.mark.parametrize("offset,magic,what", content.SIGNATURES)
def test_every_signature_is_seen_without_blkid(machine, reasons, offset, magic, what):
    put(machine.add_disk(), offset, magic)
    assert f"bears the signature of {what}" in reasons(machine)


def test_the_copy_of_a_partition_table_at_the_end(machine, reasons):
    put(machine.add_disk(), 8 * MIB - 512, b"EFI PART")
    assert "bears the signature of the copy of a GPT partition table" in reasons(machine)


@pytest.mark.parametrize("offset", [0, 5 * MIB + 3, 8 * MIB - 1])
def test_data_without_a_signature(machine, reasons, offset):
    put(machine.add_disk(), offset, b"x")
    assert reasons(machine)[0].startswith("has data at byte ")


def test_zeros_and_ones_mixed_are_data(machine, reasons):
    put(machine.add_disk(), 4 * MIB, b"\xff" * MIB)
    assert reasons(machine) == [f"has data at byte {4 * MIB}"]


@pytest.mark.parametrize(
    "tool,answer,reason",
    [
        ("blkid", (0, "TYPE=zfs_member\nUSAGE=raid\n", ""), "blkid finds: TYPE=zfs_member USAGE=raid"),
        ("blkid", (8, "", ""), "blkid finds several contradicting signatures"),
        ("blkid", (2, "", "error: no luck"), "blkid could not tell: error: no luck"),
        ("blkid", (127, "", ""), "blkid could not tell: exit status 127"),
        ("wipefs", (0, "DEVICE OFFSET TYPE\nsdb 0x0 drbd\n", ""), "wipefs finds: drbd at 0x0"),
        ("wipefs", (1, "", "probing failed"), "wipefs could not tell: probing failed"),
    ],
)
def test_what_libblkid_says_and_cannot_say(machine, reasons, tool, answer, reason):
    machine.add_disk()
    machine.answers[tool] = answer
    assert reasons(machine) == [reason]


def test_a_read_error_is_a_refusal(machine, reasons, monkeypatch):
    machine.add_disk()

    def broken(handle, count):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(content.os, "read", broken)
    assert any("read error at byte 0" in r for r in reasons(machine))


@pytest.mark.parametrize("missing", ["/proc/swaps", "/proc/1/ns/mnt", BASE + "/holders", BASE + "/ro"])
def test_a_probe_that_cannot_be_made_is_a_refusal(machine, reasons, missing):
    machine.add_disk()
    path = Path(machine.path(missing))
    (path.rmdir if missing.endswith("holders") else path.unlink)()
    if missing.endswith("mnt"):
        path.write_text("not a link")
    assert reasons(machine) != []


def test_all_reasons_come_together(machine, reasons):
    put(machine.add_disk(), 510, b"\x55\xaa")
    machine.write(BASE + "/sdb1/partition", "1")
    machine.write("/proc/swaps", "F\n/dev/sdb p 1 0 -2\n")
    assert len(reasons(machine)) == 3


def test_samples_cover_both_ends_and_are_spread_evenly():
    size = 4 << 40
    regions = content.regions(size)
    assert regions[0] == (0, 16 * MIB)
    assert regions[-1] == (size - 16 * MIB, 16 * MIB)
    starts = [offset for offset, _length in regions[1:-1]]
    assert starts[64:] == [copy for copy in content.COPIES if copy >= 16 * MIB]
    starts = starts[:64]
    assert len(starts) == 64
    gaps = [b - a for a, b in pairwise(starts)]
    assert max(gaps) - min(gaps) <= 1
