"""Public reports of peers about inventories: disks by names that move, host names for addresses, etcd apart from masters."""

from __future__ import annotations

from pathlib import Path

import pytest

from avadm.findings import Finding
from avadm.site.load import examine
from tests.unit.site.corpus import BASE


def findings(tmp_path: Path, *edits: tuple[str, str]) -> list[Finding]:
    """Return what is found in the good file after some edits."""
    text = BASE
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "base.yml"
    path.write_text(text)
    return list(examine(path)[1])


@pytest.mark.parametrize(
    "device",
    [
        "{by_id: /dev/sdb}",
        "{by_id: /dev/disk/by-path/pci-0000:06:00.0-sas-phy6-lun-0}",
        "{by_id: /dev/vdb}",
        "{serial: /dev/nvme0n1}",
        "/dev/sdb",
    ],
)
def test_a_disk_has_no_name_that_moves_at_a_reboot_or_with_its_slot(tmp_path: Path, device: str) -> None:
    found = findings(tmp_path, ("{serial: S2}", device))
    assert [f.severity for f in found] == ["error"]
    assert "by-id" in found[0].wanted + found[0].remedy or "a mapping" in found[0].wanted


def test_a_partition_is_refused_with_the_whole_disk_as_the_remedy(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, ("{serial: S2}", "{by_id: /dev/disk/by-id/ata-X-part1}"))
    assert (found.check, "/dev/disk/by-id/ata-X," in found.remedy) == ("device-partition", True)


@pytest.mark.parametrize("address", ["fun-vm-0.testdomain.com", "localhost", "10.0.0.21/24", "'10.0.0.021'"])
def test_an_address_is_an_address(tmp_path: Path, address: str) -> None:
    found = findings(tmp_path, ("address: 10.0.0.21", f"address: {address}"))
    assert [(f.check, f.severity) for f in found] == [("wrong-value", "error")]


def test_etcd_may_be_apart_from_the_masters(tmp_path: Path) -> None:
    nodes = "".join(
        f"  - {{name: {name}{n}, address: 10.0.0.{low + n}, roles: [{role}]}}\n"
        for name, low, role in (("e", 30, "etcd"), ("m", 40, "master"))
        for n in (1, 2, 3)
    )
    worker = "  - {name: w1, address: 10.0.0.51, roles: [worker]}\n"
    network = "network:\n  api_vip: 10.0.0.60\n"
    found = findings(tmp_path, ("components:", f"{nodes}{worker}components:"), ("network:\n", network))
    assert [f for f in found if f.severity == "error"] == []


@pytest.mark.parametrize("name", ["S2", "stor_2", "stor2.", "-stor2", "stor 2"])
def test_a_node_has_a_name_that_kubernetes_takes(tmp_path: Path, name: str) -> None:
    found = findings(tmp_path, ("name: s2", f"name: '{name}'"))
    assert any(f.severity == "error" for f in found)
    assert all(f.remedy for f in found)
