"""Which ports a node's services take: all that the roles listen on, each with the program that may."""

from pathlib import Path

import pytest
import yaml

from avadm.checks.preflight.ports import ours
from avadm.components.catalog import COMPONENTS, taken
from avadm.components.monitoring.variables_kubernetes import JOBS
from avadm.site.model import Site
from avadm_node.probes.preflight import ports as probe

ROLES = Path(__file__).parents[3] / "roles"
OF_ROLE = {
    "coredns": "dns",
    "ingress": "ingress",
    "registry": "registry",
    "kube_state_metrics": "master",
    "kube_vip": "master",
}


def ports(*roles: str) -> dict[int, str]:
    node = {"name": "n1", "address": "10.0.0.1", "roles": roles}
    network = {"management": "10.0.0.0/24", "domain": "example.org"}
    site = Site.model_validate({"name": "room", "network": network, "nodes": [node]})
    return taken(site, site.nodes[0])


@pytest.mark.parametrize(
    ("job", "role"), [(name, role) for name, job in JOBS.items() for role in sorted(job.roles)]
)
def test_a_port_that_prometheus_reads_is_one_of_its_node_s(job, role) -> None:
    assert JOBS[job].port in ports(role)


@pytest.mark.parametrize(("name", "role"), OF_ROLE.items())
def test_a_port_that_a_role_listens_on_is_one_of_its_node_s(name, role) -> None:
    given = yaml.safe_load((ROLES / name / "defaults/main.yml").read_text())
    # kube-proxy's health is only asked by the ingress.
    listens = {v for k, v in given.items() if k.endswith("_port") and "proxy_health" not in k}
    assert listens
    assert listens <= set(ports(role))


@pytest.mark.parametrize(
    ("program", "port", "role", "wanted"),
    [
        ("hyperkube", 6443, "master", True),
        ("haproxy", 6443, "master", True),
        ("nginx", 6443, "master", False),
        ("kube-state-metr", 8085, "master", True),
        ("docker-registry", 5000, "registry", True),
        ("registry", 5000, "registry", True),
        ("apache2", 80, "ingress", False),
        ("named", 53, "dns", False),
        ("bird", 179, "worker", True),
        ("haproxy", 10250, "worker", False),
    ],
)
def test_who_may_hold_a_port(program, port, role, wanted) -> None:
    assert ours(program, ports(role)[port]) is wanted


def test_a_storage_node_needs_no_port_of_kubernetes() -> None:
    assert not {6443, 10250, 2379, 53, 80} & set(ports("osd", "mon"))


def test_a_name_service_on_loopback_is_in_no_user_s_way(monkeypatch) -> None:
    head = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    )
    row = "   0: {}:{:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {} 1\n"
    table = head + row.format("3500007F", 53, 7) + row.format("0100007F", 443, 8)
    monkeypatch.setattr(probe, "read", lambda path: table if path == "/proc/net/tcp" else head)
    assert probe.listening({53, 443}) == {"443": []}
    monkeypatch.setattr(probe, "read", lambda path: head + row.format("0100000A", 53, 9))
    assert probe.listening({53}) == {"53": []}


def test_two_parts_of_one_node_never_want_one_port() -> None:
    """But masters and Alertmanager's nodes, which rules of the site file keep apart."""
    owners: dict[tuple[str, int, str], set[str]] = {}
    for component in COMPONENTS:
        for port in component.ports:
            if port.taken and isinstance(port.number, int):
                owners.setdefault((port.duty, port.number, port.protocol), set()).add(port.program)
    assert {key: names for key, names in owners.items() if len(names) > 1} == {}


def test_each_port_has_a_number_to_be_shown() -> None:
    """A port that the site file sets has its usual number, which the page of ports shows."""
    shown = [p.usual if callable(p.number) else p.number for c in COMPONENTS for p in c.ports]
    assert 0 not in shown
