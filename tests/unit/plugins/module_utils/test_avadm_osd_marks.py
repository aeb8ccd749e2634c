"""Which OSDs have left marks on a disk, without any tool of ceph."""

import struct

import pytest
from ansible.module_utils.avadm_node.probes.disks import labels, naming
from fake_osd import APPROVED, MIB, UUID

CLUSTER = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


def text(word):
    return struct.pack("<I", len(word)) + word.encode()


LABEL = f"bluestore block device\n{UUID}\n\x02\x01".encode("latin-1") + b"".join(
    text(w) for w in ("ceph_fsid", CLUSTER, "osd_key", "SECRET", "whoami", "7")
)
TAGS = f'tags = ["ceph.cluster_fsid={CLUSTER}", "ceph.osd_fsid={UUID}", "ceph.osd_id=7", "ceph.type=block"]'
OSD = {"id": 7, "fsid": UUID, "cluster": CLUSTER}


def marks(machine, *places):
    node = machine.add_disk()
    with node.open("r+b") as stream:
        for at, data in places:
            stream.seek(at)
            stream.write(data)
    (device,) = naming.survey(machine, [APPROVED])
    return labels.marks(machine, device)


@pytest.mark.parametrize(
    ("places", "osds"),
    [
        ([], []),
        ([(0, LABEL)], [OSD]),
        ([(0, f"bluestore block device\n{UUID}\n".encode())], [{**OSD, "id": None, "cluster": None}]),
        ([(512, b"LABELONE"), (8192, TAGS.encode())], [OSD]),
        ([(512, b"LABELONE"), (8192, b'tags = ["home"]')], []),
        ([(8192, TAGS.encode())], []),
    ],
    ids=["blank", "label", "label that is not whole", "volume", "volume of others", "text alone"],
)
def test_an_osd_is_read_from_the_disk_itself(machine, places, osds):
    assert marks(machine, *places) == {"osds": osds, "unread": ""}


@pytest.mark.parametrize(
    "places",
    [
        [(0, b"bluestore block device\n\xff\xff")],
        [(512, b"LABELONE"), (8192, f"osd-block-{UUID}".encode())],
    ],
    ids=["label", "volume"],
)
def test_what_is_ceph_and_does_not_say_whose_is_reported(machine, places):
    reply = marks(machine, *places)
    assert reply["osds"] == []
    assert "at byte 0" in reply["unread"]


def test_an_osd_on_a_partition_is_found(machine, monkeypatch):
    monkeypatch.setattr(labels, "partitions", lambda machine, device: [MIB])
    assert marks(machine, (MIB, LABEL))["osds"] == [OSD]
