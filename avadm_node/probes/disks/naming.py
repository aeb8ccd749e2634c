# Runs on nodes: python 2.7 and 3.
"""Which device an approval means, and that it is the same one all the time (docs/explanation/disk-safety.md).

Nothing here writes.
"""

from __future__ import absolute_import, division, print_function

import os
import re

KINDS = ("by_id", "serial", "wwn")


class Device(object):
    """One approved device and what was found about it.

    Attributes:
        name: the approval as people read it, e.g. "serial S4CNNX0".
        path: the stable path to use: a /dev/disk/by-id link where there is one.
        real: the device node behind it.
        number: "MAJOR:MINOR".
        bytes: size.
        sequence: the kernel's count of block devices when this one appeared (Linux 5.15); None where it has none.
        reasons: why it is refused; empty while nothing speaks against it.
    """

    def __init__(self, approved):
        self.approved = approved
        self.name = ", ".join("%s %s" % (k, approved[k]) for k in KINDS if approved.get(k)) or "nothing"
        self.path = self.real = self.number = self.sequence = None
        self.bytes = 0
        self.reasons = []

    def refuse(self, reason):
        """Note a reason, once."""
        if reason not in self.reasons:
            self.reasons.append(reason)


def plain(text):
    """Return an identifier for comparing: no case, no 0x or naa, and "_" for what udev takes into no link's name."""
    return re.sub(r"^(0x|naa\.|eui\.|t10\.)", "", re.sub(r"[^\w#+.:=@-]+", "_", text.strip()).lower())


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
        machine: machine.Machine.
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
    twins = [machine.disks()[n] for n in machine.twins(device.number)]
    if twins:
        device.refuse(
            "has the serial and WWN of %s as well (several paths to one disk are not supported)"
            % ", ".join(twins)
        )
    device.sequence = machine.text("/sys/dev/block/%s/diskseq" % device.number)
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


def recheck(machine, device):
    """Refuse a device that its approval no longer leads to: another link, another disk under the same number."""
    now = resolve(machine, device.approved)
    for reason in now.reasons:
        device.refuse(reason)
    if (now.number, now.sequence) != (device.number, device.sequence):
        device.refuse(
            "is another device than the one looked at before: %s (%s), then %s (%s)"
            % (device.real, device.number, now.real, now.number)
        )


def approval(machine, number, links):
    """Return the approval that names a disk on this node, or None: its best by-id link, else serial, else WWN."""
    if links:
        return {"by_id": links[0]}
    if machine.serial(number):
        return {"serial": machine.serial(number)}
    return {"wwn": machine.wwn(number)} if machine.wwn(number) else None
