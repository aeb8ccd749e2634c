from __future__ import annotations

import sys
from typing import Any

import pytest

from avadm.checks.base import Clock, Context
from avadm.site import profile
from avadm.site.model import Site


def nic(mac: str) -> dict[str, Any]:
    return {"name": "eth0", "prefix": 24, "mac": mac, "mtu": 1500, "speed": 10000, "duplex": "full"}


def peer(name: str) -> dict[str, Any]:
    ms = [0.1 + i / 100 for i in range(10)]
    return {
        "network": "management",
        "name": name,
        "by": "icmp",
        "sent": 10,
        "ms": ms,
        "size": 1500,
        "full": "passed",
    }


def good_facts(name: str, last: int) -> dict[str, Any]:
    return {
        "os": {
            "id": "debian",
            "release": "12",
            "name": "Debian 12",
            "kernel": "6.1.0-13",
            "machine": "x86_64",
        },
        "hostname": name,
        "addresses": ["127.0.0.1", f"10.0.0.{last}"],
        "memory": {"total_mib": 64 * 1024, "available_mib": 60 * 1024},
        "swap": [],
        "space": {"/": 100_000, "/var/lib": 100_000, "/tmp": 5_000},
        "hosts": {"localhost": ["127.0.0.1", "::1"], name: ["127.0.1.1"]},
        "listening": {},
        "devices": [
            {
                "matches": 1,
                "path": "/dev/sdb",
                "used": [],
                "holders": [],
                "partitions": [],
                "signature": [],
                "rotational": False,
                "whole": True,
                "gib": 4000,
            }
        ],
        "proof": [{"state": "blank", "reasons": []}],
        "packages": {"candidates": {"ceph-common": "1:16.2.15+ds-0", "chrony": "4.3-2"}, "trouble": None},
        "clock": [1.0, 2.0],
        "cpus": 64,
        "drives": [{"name": "sda", "gib": 240, "rotational": False}],
        "links": [{"name": "eth0", "speed": 10000}, {"name": "eth1", "speed": None}],
        "machine_id": f"{last:032x}",
        "nics": {f"10.0.0.{last}": nic(f"02:00:00:00:00:{last:02x}")},
        "resolution": {name: {"answer": ["127.0.1.1"], "seconds": 0.0}},
        "time_sources": {"ntp1.example": "ok"},
        "package_sources": {"http://deb.example/dists/bookworm/InRelease": "ok"},
        "peers": [peer(f"stor{last % 3 + 1}")],
        "errors": {},
    }


@pytest.fixture
def site() -> Site:
    return Site.model_validate(
        {
            "name": "t",
            "profile": "lab-bookworm",
            "network": {"management": "10.0.0.0/24", "domain": "t.example"},
            "hardware": {
                "mds": {"cores": 36, "memory_gib": 48, "disks_gib": [240], "device_gib": 4000},
                "mon": {"ssd": True, "nics": 2},
            },
            "nodes": [
                {
                    "name": f"stor{i}",
                    "address": f"10.0.0.{i}",
                    "roles": ["mon", "mgr", "osd", "mds", "client"],
                    "devices": [{"serial": f"S{i}"}],
                }
                for i in (1, 2, 3)
            ],
        }
    )


@pytest.fixture
def context(site) -> Context:
    facts = {n.name: good_facts(n.name, i) for i, n in enumerate(site.nodes, 1)}
    clocks = {n.name: Clock(5.0, 1.0) for n in site.nodes}
    return Context(site, profile.load("lab-bookworm"), site.nodes, facts, {}, clocks)


@pytest.fixture
def mine():
    return profile.load("lab-bookworm").model_copy(update={"python": sys.executable, "packages": {}})
