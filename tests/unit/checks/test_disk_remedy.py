"""What preflight says to do with a disk that is in use: the verb that erases it, with the node and the disk."""

from avadm.checks.preflight.disks import _one
from avadm.site.model import Device, Node


def test_a_disk_in_use_names_disk_zap():
    node = Node.model_validate({"name": "stor1", "address": "10.0.0.11", "roles": ["osd"]})
    fact = {
        "matches": 1, "path": "/dev/sdb", "whole": True, "holders": [], "signature": ["ext4"], "used": [],
        "partitions": [], "rotational": None, "size": 10**12, "read_only": False,
    }  # fmt: skip
    found = _one(node, Device.model_validate({"serial": "S1"}), fact)
    assert any("`avadm disk zap stor1 S1`" in f.remedy for f in found)
