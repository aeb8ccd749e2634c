# Runs on nodes: python 2.7 and 3.
"""Disk safety (design.md, 8): which device is meant, and whether it is proven blank.

A device is blank only if every probe succeeded and found nothing; any doubt is a refusal with its reason
(K1). Nothing here writes. docs/disk-safety.md says what is proven and what cannot be.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import errno
import os
import re

from ansible.module_utils import avadm_content as content

MIN_BYTES = 5 << 30  # the least that bluestore makes sense on
KINDS = ("by_id", "serial", "wwn")


class Device(object):
    """One approved device and what was found about it.

    Attributes:
        name: the approval as people read it, e.g. "serial S4CNNX0".
        path: the stable path to use: a /dev/disk/by-id link where there is one.
        real: the device node behind it.
        number: "MAJOR:MINOR".
        bytes: size.
        reasons: why it is refused; empty while nothing speaks against it.
    """

    def __init__(self, approved):
        self.approved = approved
        self.name = ", ".join("%s %s" % (k, approved[k]) for k in KINDS if approved.get(k)) or "nothing"
        self.path = self.real = self.number = None
        self.bytes = 0
        self.reasons = []

    def refuse(self, reason):
        """Note a reason, once."""
        if reason not in self.reasons:
            self.reasons.append(reason)


def plain(text):
    """Return an identifier for comparing: blanks as udev writes them in link names, no case, no 0x or naa."""
    return re.sub(r"^(0x|naa\.|eui\.|t10\.)", "", re.sub(r"[\s/]+", "_", text.strip()).lower())


def link_matches(name, identity):
    """Return whether a by-id link's name carries an identifier of the device."""
    tail = plain(name.partition("-")[2])
    known = plain(identity)
    if tail == known or tail.endswith("_" + known):
        return True
    # World-wide names carry prefixes (scsi-3..., wwn-0x...), NVMe names a suffix (_1).
    return len(known) >= 8 and known in tail or len(tail) >= 8 and tail in known


def resolve(machine, approved):
    """Find the one device that an approval names; reasons say why there is none.

    Args:
        machine: avadm_machine.Machine.
        approved: mapping with some of by_id, serial and wwn; the device must match all that are given.
    """
    device = Device(approved)
    try:
        links = machine.links()
        candidates = None
        for kind in KINDS:
            if approved.get(kind):
                found = find(machine, kind, approved[kind], links)
                candidates = found if candidates is None else candidates & found
        if not candidates:
            device.refuse("no such device on this node")
        elif len(candidates) > 1:
            names = machine.disks()
            device.refuse(
                "several devices match: %s (several paths to one disk are not supported)"
                % ", ".join(names.get(n, n) for n in sorted(candidates))
            )
        else:
            device.number = candidates.pop()
            locate(machine, device, links)
    except (IOError, OSError) as error:
        device.refuse("could not be looked for: %s" % error)
    return device


def find(machine, kind, wanted, links):
    """Return the numbers of the devices that one identifier matches."""
    if kind == "by_id":
        return {links[wanted]} if links.get(wanted) else set()
    found = set()
    for number in machine.disks():
        if any(plain(wanted) == plain(known) for known in machine.identity(number)):
            found.add(number)
    for path, number in links.items():
        name = os.path.basename(path)
        if number and not re.search(r"-part\d+$", name) and not re.match(r"(dm|md|lvm)-", name):
            tail = plain(name.partition("-")[2])
            if tail == plain(wanted) or tail.endswith("_" + plain(wanted)):
                found.add(number)
    return found


def locate(machine, device, links):
    """Fill in the paths of a device whose number is known; compare the approval with its own identity."""
    known = machine.identity(device.number)
    mine = sorted(p for p, n in links.items() if n == device.number)
    approved = device.approved
    if approved.get("by_id"):
        device.path = approved["by_id"]
        matching = any(link_matches(os.path.basename(device.path), one) for one in known)
    else:
        device.path = mine[0] if mine else "/dev/" + machine.disks().get(device.number, "")
        wanted = [plain(approved[k]) for k in KINDS if approved.get(k)]
        matching = all(any(w in plain(one) for one in known) for w in wanted)
    if known and not matching:
        device.refuse(
            "the device says of itself: %s (a stale link, or another disk in its place)"
            % ", ".join(sorted(known))
        )
    device.real = os.path.realpath(machine.path(device.path))
    if machine.number(device.real) != device.number:
        device.refuse("%s is not the device %s" % (device.real, device.number))


def survey(machine, approvals):
    """Resolve all approvals of a node; a device that two of them name is refused under both."""
    devices = [resolve(machine, one) for one in approvals]
    for device in devices:
        others = [d.name for d in devices if d is not device and d.number and d.number == device.number]
        if others:
            device.refuse("is the same device as %s" % ", ".join(others))
    return devices


def probe(machine, device, min_bytes=MIN_BYTES, writable=False, own=False):
    """Prove that a resolved device is blank and nobody's; the reasons against it are noted on the device.

    Args:
        machine: avadm_machine.Machine.
        device: from survey(); one with reasons already is left as it is.
        min_bytes: the least size.
        writable: open for writing as well, which is for the moment just before writing: closing such a handle
            makes udev look at the device again.
        own: the content is known to be ours (an OSD whose making was cut off), so that only use is probed.
    """
    if device.reasons:
        return
    checks = [("sysfs", whole), ("mounts", unmounted), ("swap", no_swap), ("processes", unopened)]
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
        attempt(device, "size", big_enough, machine, device, handle, min_bytes)
        if not own:
            attempt(device, "signatures", unsigned, device, handle)
            attempt(device, "wipefs", wipefs_silent, machine, device)
            attempt(device, "blkid", blkid_silent, machine, device)
            if not device.reasons:
                # The dearest probe (96 MiB) last, and only for what seems blank.
                attempt(device, "content", unwritten, device, handle)
    finally:
        os.close(handle)


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
    """No process holds it open (a virtual machine or a data base on the bare device claims nothing)."""
    for holder in machine.openers(numbers(machine, device)):
        yield "is held open by %s" % holder


def big_enough(machine, device, handle, min_bytes):
    """It takes writes and is as large as is wanted; kernel and device agree on its size."""
    device.bytes = content.size(handle)
    sectors = machine.text("/sys/dev/block/%s/size" % device.number)
    if sectors is None or int(sectors) * 512 != device.bytes:
        yield "has %d bytes, but sysfs says %s sectors" % (device.bytes, sectors)
    if device.bytes < min_bytes:
        yield "is too small: %.1f GiB, wanted %.1f GiB" % (device.bytes / 2.0**30, min_bytes / 2.0**30)
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
        yield "wipefs finds: %s" % "; ".join(" ".join(line.split()) for line in out.strip().splitlines()[1:])


def blkid_silent(machine, device):
    """Libblkid's probe finds nothing; its exit status 2 alone proves nothing: it means "cannot tell" too."""
    rc, out, err = machine.run(["blkid", "-p", "-o", "export", device.real])
    if rc == 0:
        pairs = [line for line in out.split() if line.startswith(("TYPE=", "PTTYPE=", "USAGE=", "LABEL="))]
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
