# Runs on nodes: python 2.7 and 3.
"""Which OSDs have left marks on a disk, read from the disk itself: a node that was reinstalled has no tools of ceph."""

from __future__ import absolute_import, division, print_function

import os
import re

from . import content

READ = 4 << 20
"""Bytes that are read at each place: a bluestore label has 4 KiB, LVM keeps its text in the first MiB."""
SECTOR = 512
UUID = b"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# BlueStore.cc, bdev_label: the text, the OSD's UUID, then a map of lengths, names and values.
LABEL = re.compile(b"bluestore block device\n(" + UUID + b")\n")
CLUSTER = re.compile(b"ceph_fsid.{4}(" + UUID + b")", re.S)
NUMBER = re.compile(b"whoami.{4}([0-9]+)", re.S)
# ceph-volume's tags in LVM's text.
TAGS = re.compile(b"tags\\s*=\\s*\\[([^\\]]*)\\]")


def marks(machine, device):
    """Return {"osds": [{id, fsid, cluster}], "unread": text}: what of ceph is on a disk and on its partitions.

    An id or a cluster that cannot be determined is None; ``unread`` says what is ceph's and does not say which OSD's, or "".
    """
    found, unread = {}, []
    handle = machine.open(device.real, os.O_RDONLY)
    try:
        length = content.size(handle)
        for start in [0] + partitions(machine, device):
            for place in (start,) + tuple(start + copy for copy in content.CEPH_COPIES):
                if place < length:
                    block = content.read_at(
                        handle, place, min(READ if place == start else 4096, length - place)
                    )
                    reply = label(block, unread, place)
                    for one in reply + (volumes(block, unread, place) if place == start else []):
                        found.setdefault(one["fsid"], one)
    finally:
        os.close(handle)
    return {"osds": [found[key] for key in sorted(found)], "unread": "; ".join(unread)}


def partitions(machine, device):
    """Return where the partitions of a disk begin, bytes."""
    base = "/sys/dev/block/" + device.number
    starts = [machine.text("%s/%s/start" % (base, name)) for name in machine.entries(base)]
    return sorted(int(text) * SECTOR for text in starts if text)


def label(block, unread, place):
    """Return the OSD of a bluestore label, in a list; nothing where there is none."""
    if not block.startswith(content.CEPH):
        return []
    head = block[:4096]
    uuid = LABEL.match(head)
    if not uuid:
        unread.append("a bluestore label at byte %d that cannot be read" % place)
        return []
    cluster, number = CLUSTER.search(head), NUMBER.search(head)
    return [entry(uuid.group(1), cluster and cluster.group(1), number and number.group(1))]


def volumes(block, unread, place):
    """Return the OSDs whose logical volumes LVM's text names, former ones too."""
    if not any(block[SECTOR * n : SECTOR * n + 8] == b"LABELONE" for n in range(4)):
        return []
    found = []
    for tags in TAGS.findall(block):
        values = dict(part.partition(b"=")[::2] for part in re.findall(b'"ceph[.]([^"]*)"', tags))
        if values.get(b"osd_fsid"):
            found.append(entry(values[b"osd_fsid"], values.get(b"cluster_fsid"), values.get(b"osd_id")))
    if not found and re.search(b"(?:ceph-|osd-block-)" + UUID, block):
        unread.append("volumes of ceph at byte %d that do not say whose" % place)
    return found


def entry(uuid, cluster, number):
    """Return one OSD as text and numbers."""
    return {
        "id": int(number) if number and number.isdigit() else None,
        "fsid": uuid.decode("ascii", "replace"),
        "cluster": cluster.decode("ascii", "replace") if cluster else None,
    }
