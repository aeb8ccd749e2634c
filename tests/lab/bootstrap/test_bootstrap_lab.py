"""Bootstrap of the running lab's nodes: done is done, and a changed host key stops."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from ruamel.yaml import YAML

from avadm_lab import folder

pytestmark = pytest.mark.lab
LAB = folder.default().root


def avadm(site, *arguments):
    command = [sys.executable, "-m", "avadm", "--site", str(site), *arguments]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)


@pytest.mark.core("site")
def test_lab_is_bootstrapped_and_a_second_run_changes_nothing():
    first = avadm(LAB / "site.yml", "bootstrap", "--password-file", str(LAB / "password"))
    assert first.returncode == 0, first.stderr
    again = avadm(LAB / "site.yml", "bootstrap", "--json")
    assert again.returncode == 0, again.stderr
    assert {n["state"] for n in json.loads(again.stdout)["nodes"].values()} == {"ok"}


def test_another_host_key_than_the_site_files_stops_that_node_alone(tmp_path):
    data = YAML(typ="safe").load((LAB / "site.yml").read_text())
    data["ssh"] = {"key": str(LAB / "id_ed25519"), "known_hosts": str(tmp_path / "known_hosts")}
    first, second = data["nodes"][:2]
    first["host_key"] = second["host_key"]
    YAML().dump(data, tmp_path / "site.yml")
    done = avadm(tmp_path / "site.yml", "bootstrap", "--json")
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert {name for name, n in result["nodes"].items() if n["state"] == "failed"} == {first["name"]}
    assert "host key changed" in result["findings"][0]["what"]
    assert first["name"] not in (tmp_path / "known_hosts").read_text().split(",")[0]
