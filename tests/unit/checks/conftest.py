import copy
import sys

import pytest

from avadm.checks.evidence import Clock, PreflightContext
from avadm.site import profile
from tests.unit.fakes import sites

ROLES = ("mon", "mgr", "osd", "mds", "client")
NIC = {"name": "eth0", "prefix": 24, "mtu": 1500, "speed": 10000, "duplex": "full"}
NOTHING = {"used": [], "holders": [], "partitions": [], "signature": []}
DISK = {"matches": 1, "path": "/dev/sdb", **NOTHING, "rotational": False, "whole": True, "gib": 4000}
DEBIAN = {"id": "debian", "release": "12", "name": "Debian 12", "kernel": "6.1.0-13", "machine": "x86_64"}


def way(name, **more):
    """Return what is measured of the way to another node."""
    ms = [0.1 + i / 100 for i in range(10)]
    asked = {"network": "management", "name": name, "by": "icmp", "sent": 10, "size": 1500}
    return {**asked, "ms": ms, "full": "passed", **more}


def good_facts(name, last):
    return {
        "os": dict(DEBIAN),
        "boot": {"controllers": ["cpu", "cpuacct", "cpuset", "memory"], "nouveau": False},
        "hostname": name,
        "addresses": ["127.0.0.1", f"10.0.0.{last}"],
        "memory": {"total_mib": 64 * 1024, "available_mib": 60 * 1024},
        "swap": [],
        "space": {"/": 100_000, "/var/lib": 100_000, "/tmp": 5_000},
        "inodes": {"/": 400_000, "/var/lib": 400_000, "/tmp": 400_000},
        "hosts": {"localhost": ["127.0.0.1", "::1"], name: ["127.0.1.1"]},
        "listening": {},
        "filters": {"others": [], "tables": []},
        "devices": [copy.deepcopy(DISK)],
        "proof": [{"state": "blank", "reasons": []}],
        "packages": {"candidates": {"ceph-common": "1:16.2.15+ds-0", "chrony": "4.3-2"}, "trouble": None},
        "clock": [1.0, 2.0],
        "cpus": 64,
        "drives": [{"name": "sda", "gib": 240, "rotational": False}],
        "links": [{"name": "eth0", "speed": 10000}, {"name": "eth1", "speed": None}],
        "machine_id": f"{last:032x}",
        "nics": {f"10.0.0.{last}": {**NIC, "mac": f"02:00:00:00:00:{last:02x}"}},
        "resolution": {name: {"answer": ["127.0.1.1"], "seconds": 0.0}},
        "time_sources": {"ntp1.example": "ok"},
        "package_sources": {"http://deb.example/dists/bookworm/InRelease": "ok"},
        "registries": {},
        "peers": [way(f"stor{last % 3 + 1}")],
        "errors": {},
    }


@pytest.fixture
def site():
    mds = {"cores": 36, "memory_gib": 48, "disks_gib": [240], "device_gib": 4000}
    return sites.site(
        *(sites.node(f"stor{i}", i, *ROLES, devices=[{"serial": f"S{i}"}]) for i in (1, 2, 3)),
        profile="lab-bookworm",
        network={"domain": "t.example", "filter": {"enabled": True}},
        hardware={"mds": mds, "mon": {"ssd": True, "nics": 2}},
    )


@pytest.fixture
def context(site):
    facts = {n.name: good_facts(n.name, i) for i, n in enumerate(site.nodes, 1)}
    clocks = {n.name: Clock(5.0, 1.0) for n in site.nodes}
    return PreflightContext(site, profile.load("lab-bookworm"), site.nodes, facts, {}, clocks)


@pytest.fixture
def mine():
    return profile.load("lab-bookworm").model_copy(update={"python": sys.executable, "packages": {}})
