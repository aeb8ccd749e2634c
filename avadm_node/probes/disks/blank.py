# Runs on nodes: python 2.7 and 3.
"""Disk safety (design.md, 8): whether a device that naming found is proven blank.

A device is blank only if every probe succeeded and found nothing; any doubt is a refusal with its reason
(K1). Nothing here writes. docs/explanation/disk-safety.md says what is proven and what cannot be.
"""

from __future__ import absolute_import, division, print_function

import errno
import os

from . import content

MIN_BYTES = 5 << 30  # the least that bluestore makes sense on


def probe(machine, device, min_bytes=MIN_BYTES, writable=False, own=False):
    """Prove that a resolved device is blank and unclaimed; the reasons against it are noted on the device.

    Args:
        machine: machine.Machine.
        device: from survey(); one with reasons already is left as it is.
        min_bytes: the least size.
        writable: open for writing as well, which is for the moment just before writing: closing such a handle
            makes udev look at the device again.
        own: the content is known to be ours (an OSD whose making was cut off), so that only use is probed.
    """
    if device.reasons:
        return
    checks = [("sysfs", whole), ("loop devices", no_loop), ("mounts", unmounted)]
    checks += [("swap", no_swap), ("processes", unopened)]
    for name, check in checks:
        attempt(device, name, check, machine, device)
    handle = None
    try:
        handle = machine.open(device.real, (os.O_RDWR if writable else os.O_RDONLY) | os.O_EXCL)
    except OSError as error:
        device.refuse(
            "is in use: the kernel refuses an exclusive open (mounted elsewhere, or part of a device)"
            if error.errno == errno.EBUSY
            else "cannot be opened: %s" % os.strerror(error.errno)
        )
        return
    try:
        attempt(device, "number", same_device, machine, device, handle)
        attempt(device, "size", big_enough, machine, device, handle, min_bytes)
        if not own:
            prove_content(machine, device, handle)
    finally:
        os.close(handle)


def prove_content(machine, device, handle):
    """Prove that nothing is written on an open device, or on an image file (device.real); note reasons against it."""
    attempt(device, "signatures", unsigned, device, handle)
    attempt(device, "wipefs", wipefs_silent, machine, device)
    attempt(device, "blkid", blkid_silent, machine, device)
    if not device.reasons:
        # The dearest probe (96 MiB) last, and only for what seems blank.
        attempt(device, "content", unwritten, device, handle)


def attempt(device, name, check, *arguments):
    """Run one probe; a probe that fails is a refusal, since it proved nothing."""
    try:
        for reason in check(*arguments):
            device.refuse(reason)
    except Exception as error:  # whatever it was, the proof is missing
        device.refuse("the probe of its %s failed: %s" % (name, error))


def whole(machine, device):
    """It is a whole disk without partitions, and neither part of another device nor made of others."""
    base = "/sys/dev/block/" + device.number
    names = machine.entries(base)
    if "partition" in names:
        yield "is a partition"
    partitions = [n for n in names if machine.text("%s/%s/partition" % (base, n)) is not None]
    if partitions:
        yield "has partitions: %s" % ", ".join(partitions)
    # A partition has no slaves folder; for a whole disk both must be readable.
    for folder, meaning in (("holders", "is used by"), ("slaves", "is made of")):
        if "partition" in names and folder not in names:
            continue
        found = machine.entries("%s/%s" % (base, folder))
        if found:
            yield "%s %s" % (meaning, ", ".join(found))
    if machine.text(base + "/ro") != "0":
        yield "is read-only"


def no_loop(machine, device):
    """No loop device lies on it."""
    for name in machine.loops_on(numbers(machine, device)):
        yield "is used by %s" % name


def numbers(machine, device):
    """Return the device's number and those of its partitions."""
    base = "/sys/dev/block/" + device.number
    found = [machine.text("%s/%s/dev" % (base, n)) for n in machine.entries(base)]
    return {device.number} | {n for n in found if n}


def unmounted(machine, device):
    """It is in no mount table that this node shows; the exclusive open covers the others."""
    mine = numbers(machine, device)
    for process, number, point, source in machine.mounts():
        if number in mine or source.startswith("/dev/") and same(machine, source, mine):
            yield "is mounted at %s (seen by process %s)" % (point, process)


def no_swap(machine, device):
    """It is not swapped to."""
    table = machine.text("/proc/swaps")
    if table is None:
        raise ValueError("/proc/swaps is missing")
    for line in table.splitlines()[1:]:
        if line.split() and same(machine, line.split()[0], numbers(machine, device)):
            yield "is used as swap"


def same(machine, path, mine):
    """Return whether a path is one of the devices."""
    try:
        return machine.number(machine.path(path)) in mine
    except OSError:
        return False


def unopened(machine, device):
    """No process holds it open (a virtual machine or a database on the bare device claims nothing)."""
    for holder in machine.openers(numbers(machine, device)):
        yield "is held open by %s" % holder


def same_device(machine, device, handle):
    """What was opened is the device that was looked for, whatever became of its path meanwhile."""
    found = machine.number("/proc/self/fd/%d" % handle)
    if found != device.number:
        yield "opens as another device, %s" % found


def big_enough(machine, device, handle, min_bytes):
    """It takes writes and is as large as is wanted; kernel and device agree on its size."""
    device.bytes = content.size(handle)
    sectors = machine.text("/sys/dev/block/%s/size" % device.number)
    if sectors is None or int(sectors) * 512 != device.bytes:
        yield "has %d bytes, but sysfs says %s sectors" % (device.bytes, sectors)
    if device.bytes < min_bytes:
        yield "is too small: %d MiB, wanted %d MiB" % (device.bytes >> 20, min_bytes >> 20)
    if machine.read_only(handle):
        yield "is read-only"


def unsigned(device, handle):
    """No well-known place bears a signature."""
    for what in content.signatures(handle):
        yield "bears the signature of %s" % what


def wipefs_silent(machine, device):
    """Libblkid, asked to list every signature, succeeds and lists none."""
    rc, out, err = machine.run(["wipefs", "--no-act", device.real])
    if rc != 0:
        yield "wipefs could not tell: %s" % ((err or out).strip() or "exit status %d" % rc)
    elif out.strip():
        yield "wipefs finds: %s" % "; ".join(places(out))


def places(listed):
    """Return what wipefs listed (device, offset, type and more), each type once: ZFS alone bears its mark at 512 places."""
    first, count = {}, {}
    for fields in [line.split() for line in listed.strip().splitlines()[1:]]:
        what = fields[2] if len(fields) > 2 else " ".join(fields)
        first.setdefault(what, fields[1] if len(fields) > 1 else "?")
        count[what] = count.get(what, 0) + 1
    return [
        "%s at %s%s"
        % (what, first[what], " and %d more places" % (count[what] - 1) if count[what] > 1 else "")
        for what in sorted(first)
    ]


def blkid_silent(machine, device):
    """Libblkid's probe finds nothing; its exit status 2 alone proves nothing: it means "cannot tell" too."""
    rc, out, err = machine.run(["blkid", "-p", "-o", "export", device.real])
    if rc == 0:
        pairs = [
            line for line in out.split() if line.startswith(("TYPE=", "PTTYPE=", "USAGE=", "LABEL=", "UUID="))
        ]
        yield "blkid finds: %s" % (" ".join(pairs) or out.strip() or "something")
    elif rc == 8:
        yield "blkid finds several contradicting signatures"
    elif rc != 2 or err.strip():
        yield "blkid could not tell: %s" % (err.strip() or "exit status %d" % rc)


def unwritten(device, handle):
    """Both ends and evenly spread samples are all zeros, or all ones, and can be read."""
    offset = content.first_written(handle)
    if offset is not None:
        yield "has data at byte %d" % offset
