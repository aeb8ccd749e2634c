# Runs on nodes: python 2.7 and 3.
"""Erases an unused disk, for `avadm disk zap`: the only code of avadm that does such a thing.

No role and no playbook comes here. What is in use is refused; what is overwritten is exactly what
blank reads when it proves a device blank, and the places where libblkid finds anything.
"""

from __future__ import absolute_import, division, print_function

import errno
import fcntl
import os
import re
import time

from . import (
    blank,
    content,
    labels,
    naming,
    report,
)
from .machine import Machine

BLKRRPART = 0x125F  # linux/fs.h
MIB = 1 << 20
TRIES = 10  # udev looks at a device that was written, which takes it for a moment


def look(given, machine=None):
    """Return {"reasons", "osds", "unread"}: what forbids that a disk is erased, and of which OSDs there is anything on it.

    Nothing is touched. The OSDs are those of labels; anyone who asks has to ask the cluster for them.

    Args:
        given: mapping with approval (what names the disk), numbers, bytes and serial, as they were shown.
    """
    machine = machine or Machine(report.run)
    device = found(machine, given)
    try:
        reported = labels.marks(machine, device) if device.real else {"osds": [], "unread": ""}
    except Exception as error:  # whatever it was: what ceph has there is not known
        reported = {"osds": [], "unread": "it cannot be read: %s" % error}
    return dict(reported, reasons=device.reasons)


def found(machine, given):
    """Return the device that was shown, with what forbids that it is erased noted on it."""
    device = naming.resolve(machine, given["approval"])
    if device.reasons:
        return device
    shown = (given["numbers"], given["serial"])
    now = (device.number, machine.serial(device.number))
    if shown != now:
        device.refuse("is another disk than the one that was shown: %s, now %s" % (shown, now))
        return device
    for name, check in (
        ("sysfs", unstacked),
        ("loop devices", blank.no_loop),
        ("mounts", blank.unmounted),
        ("swap", blank.no_swap),
        ("processes", blank.unopened),
    ):
        blank.attempt(device, name, check, machine, device)
    if not device.reasons:
        handle = claim(machine, device, os.O_RDONLY)
        if handle is not None:
            blank.attempt(device, "size", same_size, device, handle, given["bytes"])
            os.close(handle)
    return device


def unstacked(machine, device):
    """It is a whole disk, and no device lies on it or on a partition of it; unused partitions may go."""
    base = "/sys/dev/block/" + device.number
    names = machine.entries(base)
    if "partition" in names:
        yield "is a partition: name the whole disk"
    parts = [n for n in names if machine.text("%s/%s/partition" % (base, n)) is not None]
    for part in [base] + ["%s/%s" % (base, n) for n in parts]:
        for holder in machine.entries(part + "/holders"):
            yield "is used by %s" % holder
    for slave in [] if "partition" in names else machine.entries(base + "/slaves"):
        yield "is made of %s" % slave
    if machine.text(base + "/ro") != "0":
        yield "is read-only"


def claim(machine, device, flags):
    """Open the device for us alone; None, with the reason noted, where that cannot be."""
    try:
        handle = machine.open(device.real, flags | os.O_EXCL)
    except OSError as error:
        device.refuse(
            "is in use: the kernel refuses an exclusive open"
            if error.errno == errno.EBUSY
            else "cannot be opened: %s" % os.strerror(error.errno)
        )
        return None
    blank.attempt(device, "number", blank.same_device, machine, device, handle)
    return handle


def same_size(device, handle, wanted):
    """It is as large as was shown."""
    device.bytes = content.size(handle)
    if device.bytes != wanted:
        yield "has %d bytes, and %d were shown" % (device.bytes, wanted)


def zap(given, machine=None, sleep=time.sleep):
    """Erase the disk that was shown; return {"reasons", "wiped", "after"}.

    Returns:
        reasons: why nothing was done; empty where the disk was erased.
        wiped: [offset, bytes] that were overwritten with zeros.
        after: description of the disk, judged again; it must be ``blank``.
    """
    machine = machine or Machine(report.run)
    device = found(machine, given)
    if device.reasons:
        return {"reasons": device.reasons, "wiped": [], "after": None}
    places = signed(machine, device)
    handle = claim(machine, device, os.O_RDWR)
    try:
        if device.reasons:
            return {"reasons": device.reasons, "wiped": [], "after": None}
        length = content.size(handle)
        regions = content.regions(length) + [(at, min(MIB, length - at)) for at in places if at < length]
        for offset, count in regions:
            overwrite(handle, offset, count)
        os.fsync(handle)
        try:
            fcntl.ioctl(handle, BLKRRPART)  # the kernel forgets the partitions that were
        except (IOError, OSError):
            pass  # a device that can have none; what is left of them is found below
    finally:
        if handle is not None:
            os.close(handle)
    after = None
    for _attempt in range(TRIES):
        (after,) = report.approved({"devices": [given["approval"]], "min_bytes": 1}, machine)
        if after["state"] == "blank":
            break
        sleep(0.5)
    return {"reasons": [], "wiped": regions, "after": after}


def signed(machine, device):
    """Return the offsets at which libblkid finds anything."""
    rc, out, _err = machine.run(["wipefs", "--no-act", "--parsable", device.real])
    return [int(text, 16) for text in re.findall(r"\b0x[0-9a-f]+\b", out)] if rc == 0 else []


def overwrite(handle, offset, count):
    """Write zeros."""
    zeros = b"\x00" * MIB
    os.lseek(handle, offset, os.SEEK_SET)
    while count:
        count -= os.write(handle, zeros[: min(MIB, count)])
