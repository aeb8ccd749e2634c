"""Preflight against the running lab: nothing in the way, and planted faults of the site file are found."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from ruamel.yaml import YAML

from avadm_lab import folder

pytestmark = pytest.mark.lab
LAB = folder.default().root


def preflight(site, *arguments):
    command = [sys.executable, "-m", "avadm", "--site", str(site), "preflight", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.stdout, done.stderr
    return done.returncode, {c["id"]: c for c in json.loads(done.stdout)["checks"]}


def test_lab_is_fit():
    code, checks = preflight(LAB / "site.yml")
    errors = [f for c in checks.values() for f in c["findings"] if f["severity"] == "error"]
    assert errors == []
    assert code == 0


@pytest.mark.core("site")
def test_what_runs_is_the_profiles_version():
    code, checks = preflight(LAB / "site.yml", "--versions")
    assert (code, checks["versions"]["findings"]) == (0, [])


@pytest.mark.parametrize("fault", ["profile", "device", "name", "unreachable"])
def test_planted_fault(tmp_path, fault):
    data = YAML(typ="safe").load((LAB / "site.yml").read_text())
    data["ssh"] = {"key": str(LAB / "id_ed25519"), "known_hosts": str(LAB / "known_hosts")}
    node = data["nodes"][0]
    wanted, hosts = fault, {node["name"]}
    if fault == "profile":
        # Debian 12 has no python2.7, which the stated profile asks the nodes with.
        wanted = "os" if data["profile"] == "lab-bullseye" else "reachability"
        data["profile"], hosts = "stated", {n["name"] for n in data["nodes"]}
    elif fault == "device":
        node["devices"][0]["by_id"] = "/dev/disk/by-id/none"
        wanted = "disks"
    elif fault == "name":
        other = data["nodes"][1]
        node["name"], other["name"] = other["name"], node["name"]
        wanted, hosts = "reachability", {node["name"], other["name"]}  # the pinned keys know better
    else:
        node["address"] = (
            node["address"].rpartition(".")[0] + ".240"
        )  # no one's: the highest are virtual addresses
        wanted = "reachability"
    YAML().dump(data, tmp_path / "site.yml")
    code, checks = preflight(tmp_path / "site.yml")
    assert code == (2 if len(hosts) == len(data["nodes"]) and wanted == "reachability" else 1)
    assert {f["host"] for f in checks[wanted]["findings"]} == hosts
