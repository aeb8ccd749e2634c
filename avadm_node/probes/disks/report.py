# Runs on nodes: python 2.7 and 3.
"""Reports on disks for the command line: each approved one, or every whole disk of the node.

Nothing here writes, and nothing here judges: that is blank and ownership.
"""

from __future__ import absolute_import, division, print_function

import os
import re
import subprocess

from . import blank, naming, ownership
from .machine import Machine
from .rotation import rotates


def run(argv):
    """Run a program; return (exit status, stdout, stderr). One that is not there is a probe that fails."""
    environment = dict(os.environ, LC_ALL="C")
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    except OSError as error:
        return 127, "", "%s: %s" % (argv[0], os.strerror(error.errno))
    out, err = process.communicate()
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def cluster(machine):
    """Return the fsid of the ceph cluster that this node's configuration names; "" where there is none."""
    found = re.search(r"^\s*fsid\s*=\s*(\S+)", machine.text("/etc/ceph/ceph.conf") or "", re.M)
    return found.group(1) if found else ""


def approved(given, machine=None):
    """Return what is found about each approval.

    Args:
        given: mapping with devices, and perhaps fsid and min_bytes.
    """
    machine = machine or Machine(run)
    devices = naming.survey(machine, given["devices"])
    return judged(machine, devices, given)


def judged(machine, devices, given):
    """Return the description of each device, judged."""
    fsid = given.get("fsid") or cluster(machine)
    least = given.get("min_bytes") or blank.MIN_BYTES
    journal = ownership.Journal().entries()
    return [ownership.describe(one, *ownership.judge(machine, one, fsid, journal, least)) for one in devices]


def every(given, machine=None):
    """Return every whole disk of the node: description, approval that would name it, and what it is.

    Args:
        given: mapping with devices (the approvals of the site file), and perhaps fsid and min_bytes.
    """
    machine = machine or Machine(run)
    links = machine.links()
    named = {}
    for one in naming.survey(machine, given["devices"]):
        named.setdefault(one.number, []).append(one.name)
    found = []
    for number, kernel in sorted(machine.disks().items(), key=lambda item: natural(item[1])):
        base = "/sys/dev/block/" + number
        if machine.text(base + "/size") in (None, "0"):
            continue
        names = stable(links, number)
        if not names and re.match(r"(loop|ram|zram|dm-|md|sr|fd|nbd|rbd)\d", kernel):
            continue  # no disk, but something made of one, or of a file
        approval = naming.approval(machine, number, names)
        device = naming.resolve(machine, approval) if approval else naming.Device({})
        if not approval:
            device.refuse("has neither a serial number, nor a WWN, nor a link under /dev/disk/by-id")
            device.number, device.real = number, "/dev/" + kernel
            device.bytes = int(machine.text(base + "/size")) * 512
        (report,) = judged(machine, [device], given)
        report.update(
            kernel=kernel,
            links=names,
            approval=approval,
            approved=named.get(number, []),
            serial=machine.serial(number),
            wwn=machine.wwn(number),
            model=machine.text(base + "/device/model") or machine.udev(number).get("ID_MODEL"),
            rotational=rotates(
                kernel, machine.text(base + "/queue/rotational"), machine.text(base + "/device/model")
            ),
            size=report["size"] or int(machine.text(base + "/size")) * 512,
            content=content(machine, device),
            numbers=number,
        )
        found.append(report)
    return found


def natural(name):
    """Return a key that sorts sdb before sdaa, and loop9 before loop10."""
    return [int(part) if part.isdigit() else (len(part), part) for part in re.findall(r"\d+|\D+", name)]


def stable(links, number):
    """Return the by-id links of a whole disk, the one that says most of the disk itself first."""
    mine = [path for path, found in links.items() if found == number]
    order = ("wwn-", "nvme-eui", "nvme-uuid", "scsi-", "ata-", "nvme-", "virtio-")

    def rank(path):
        name = os.path.basename(path)
        return next((n for n, prefix in enumerate(order) if name.startswith(prefix)), len(order)), path

    return sorted(mine, key=rank)


def content(machine, device):
    """Return what is written on a disk, as far as it can be determined without claiming it."""
    try:
        _length, found = ownership.signatures(machine, device.real)
    except (IOError, OSError, ValueError, TypeError) as error:
        return ["cannot be read: %s" % error]
    except Exception as error:  # content.ContentError says where it could not be read
        return [str(error)]
    rc, out, _err = machine.run(["blkid", "-p", "-o", "export", device.real])
    values = dict(line.partition("=")[::2] for line in out.splitlines()) if rc == 0 else {}
    reports = [values[key] for key in ("TYPE", "PTTYPE") if values.get(key)]
    return found or reports
