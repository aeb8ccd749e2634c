"""What a killed keepalived leaves: the roles that run it have its addresses taken away, all of them and no other."""

import configparser
import re
import shlex

import pytest

from tests.unit.fakes.roles import ROLES, tasks, template, value, variables

GIVEN = {
    "inventory_hostname": "n1",
    "kube_vip_address": "10.0.0.250",
    "kube_vip_own_address": "10.0.0.21",
    "kube_vip_servers": {"m1": "10.0.0.21", "m2": "10.0.0.22"},
    "kube_vip_router_id": 250,
    "_kube_vip_device": "eth7",
    "ingress_vip": "10.0.0.251",
    "ingress_address": "10.0.0.31",
    "ingress_peers": ["10.0.0.32"],
    "ingress_router_id": 251,
    "ingress_service_router_id": 240,
    "ingress_service_addresses": ["10.0.0.240", "10.0.0.241", "10.0.0.242"],
    "ingress_proxy_health_port": 10256,
    "_ingress_device": "eth7",
}


def settings(role):
    """Return the drop-in of keepalived's unit."""
    given, *_ = [t["avadm_daemon"] for t in tasks(role, "run", "settings") if "'keepalived'" in str(t)]
    parser = configparser.ConfigParser(interpolation=None)
    (path,) = re.findall(r"role_path ~ '(\S+)'", given["settings"])
    parser.read_string((ROLES / role / path.lstrip("/")).read_text())
    return parser["Service"]


def files(role):
    """Return path to the template's folder and variables, of what the role writes below /etc/keepalived."""
    if role == "ingress":
        return variables(role, "vars")["_ingress_vip_files"], variables(role, "vars")
    (task,) = tasks(role, "configure", "avadm_files")
    return task["avadm_files"]["files"], {k: v for k, v in task["vars"].items() if k != "_kube_vip_device"}


def held(role, **more):
    """Return (addresses that keepalived is told to hold, lines for `ip -batch`)."""
    _, own = files(role)
    have = {**GIVEN, "role_path": str(ROLES / role), **own, **more}
    told = template(f"{role}/templates/keepalived.conf.j2", **have)
    about = value(own["_ingress_held" if role == "ingress" else "_kube_vip_held"], **have)
    lines = template("kube_common/templates/keepalived-addresses.j2", **{**have, "held": about})
    return re.findall(r"([\d.]+)/32", told), lines.splitlines()


@pytest.mark.parametrize(
    ("role", "more", "count"),
    [("kube_vip", {}, 1), ("ingress", {}, 4), ("ingress", {"ingress_service_addresses": []}, 1)],
    ids=["API", "ingress and services", "ingress alone"],
)
def test_every_address_that_is_held_is_taken_away(role, more, count):
    addresses, lines = held(role, **more)
    assert len(addresses) == count
    assert sorted(lines) == sorted(f"address del {a}/32 dev eth7" for a in addresses)


@pytest.mark.parametrize("role", ["kube_vip", "ingress"])
def test_one_that_is_killed_is_started_again_and_cleaned_up_after(role):
    unit = settings(role)
    assert unit["Restart"] == "always"
    # The dash: an address that is gone already fails nothing.
    assert unit["ExecStopPost"].startswith("-/bin/sh -c ")
    command = shlex.split(unit["ExecStopPost"])[-1]
    written = {f["path"] for f in files(role)[0]}
    (read,) = [word for word in shlex.split(command) if word.startswith("/etc/")]
    assert read in written
    # One address that is not there keeps no other.
    assert "-force" in shlex.split(command)
