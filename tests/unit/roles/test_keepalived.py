"""Virtual addresses: each role gives its own to keepalived; what a killed keepalived leaves is taken away, and no other."""

import configparser
import re
import shlex
from fnmatch import fnmatch

import pytest

from tests.unit.fakes.roles import ROLES, given, read, service, template, value

DEVICE = {"inventory_hostname": "n1", "_vip_device": "eth7"}
SERVERS = {"m1": "10.0.0.21", "m2": "10.0.0.22"}
GIVEN = {
    "kube_vip": {
        "kube_vip_address": "10.0.0.250",
        "kube_vip_own_address": "10.0.0.21",
        "kube_vip_servers": SERVERS,
        "kube_vip_router_id": 250,
    },
    "objects_vip": {
        "objects_vip_address": "10.0.0.252",
        "objects_vip_own_address": "10.0.0.21",
        "objects_vip_servers": SERVERS,
        "objects_vip_router_id": 252,
    },
    "ingress": {
        "ingress_vip": "10.0.0.251",
        "ingress_address": "10.0.0.21",
        "ingress_peers": ["10.0.0.22"],
        "ingress_router_id": 251,
        "ingress_service_router_id": 240,
        "ingress_service_addresses": ["10.0.0.240", "10.0.0.241", "10.0.0.242"],
        "ingress_proxy_health_port": 10256,
    },
}
HELD = [
    ("kube_vip", {}, 1),
    ("objects_vip", {}, 1),
    ("ingress", {}, 4),
    ("ingress", {"ingress_service_addresses": []}, 1),
]


def rendered(role, **more):
    """Return keepalived's configuration and the lines for `ip -batch`, as a role has the role vip write them."""
    tasks = [
        task for path in (ROLES / role / "tasks").glob("*.yml") for task in read(role, f"tasks/{path.name}")
    ]
    (report,) = [task["vars"] for task in tasks if task.get("ansible.builtin.import_role") == {"name": "vip"}]
    have = {**given(role), **GIVEN[role], **more}
    asked = ("vip_own_address", "vip_peers", "vip_instances")
    have = {**DEVICE, **{name: value(report[name], **have) for name in asked}}
    return [template(f"vip/templates/{name}.j2", **have) for name in ("instances.conf", "addresses")]


@pytest.mark.parametrize(("role", "more", "count"), HELD)
def test_every_address_that_is_held_is_taken_away(role, more, count):
    report, taken = rendered(role, **more)
    addresses = re.findall(r"([\d.]+)/32", report)
    assert len(set(addresses)) == count
    assert sorted(taken.splitlines()) == sorted(f"address del {a}/32 dev eth7" for a in addresses)


@pytest.mark.parametrize(("role", "more", "count"), HELD)
def test_nodes_tell_each_other_alone_and_the_first_address_stands_for_all(role, more, count):
    report = re.sub(r"\s+", " ", rendered(role, **more)[0])
    for instance in report.split("vrrp_instance")[1:]:
        assert "unicast_src_ip 10.0.0.21 unicast_peer { 10.0.0.22 }" in instance
        assert "nopreempt interface eth7" in instance
        (announced,) = re.findall(r"virtual_ipaddress { (.+?) }", instance)
        assert re.fullmatch(r"10\.0\.0\.2\d\d/32", announced)
        (script,) = re.findall(r"track_script { (\w+) }", instance)
        assert f"vrrp_script {script} " in report


def test_one_that_is_killed_is_started_again_and_cleaned_up_after():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string((ROLES / "vip/files/keepalived-unit.conf").read_text())
    unit = parser["Service"]
    assert unit["Restart"] == "always"
    # The dash: an address that is gone already fails nothing.
    assert unit["ExecStopPost"].startswith("-/bin/sh -c ")
    command = shlex.split(unit["ExecStopPost"])[-1]
    (path,) = [word for word in shlex.split(command) if word.startswith("/etc/")]
    files = [file for file in service("vip", "keepalived")["files"] if "template" in file]
    assert any(fnmatch(value(file["path"], _vip_name="api"), path) for file in files)
    # One address that is not there keeps no other.
    assert "-force" in shlex.split(command)
