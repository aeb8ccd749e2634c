"""haproxy's nodes in an upgrade: the virtual address leaves a node first, and is asked from every node."""

from types import SimpleNamespace

import pytest

from avadm.cluster import kinds
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import AddressAway, ApiServerAway
from avadm.errors import AvadmError
from avadm.operations.balancer_nodes import BalancerNodes
from avadm.remote.call import Answer
from avadm.remote.fleet import Result
from tests.unit.fakes import sites


class Nodes:
    """Nodes with keepalived and health programs."""

    def __init__(self):
        self.asked, self.stopped, self.bad, self.silent = [], set(), set(), set()

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.asked.append((node, command))
        if node in self.silent:
            return Result(node, command, None, "", "", 0.0, 0.0, error="no route")
        rc, err = 0, ""
        if "stop" in command:
            self.stopped.add(node)
        elif "start" in command:
            self.stopped.discard(node)
        elif "is-active" in command:
            rc = 3 if node in self.stopped else 0
        elif node in self.bad:
            rc, err = 7, "curl: (7) refused"
        return Result(node, command, rc, "", err, 0.0, 0.0)

    def map(self, commands, *, timeout=60.0):
        return {node: self.run(node, command) for node, command in commands.items()}


def made(masters=2):
    nodes = [sites.node(f"m{i}", i, "master", "etcd") for i in range(1, masters + 1)]
    fleet, site = Nodes(), sites.site(*nodes, sites.node("w1", 9, "worker"))
    cluster = Cluster(type("File", (), {"site": site})(), fleet, None)
    return fleet, cluster, BalancerNodes(cluster)


def test_the_address_leaves_a_node_where_another_can_hold_it():
    _, _, balancer = made()
    assert balancer.settings("m1") == (AddressAway("m1"),)
    assert made(masters=1)[2].settings("m1") == ()


def test_haproxy_and_the_address_are_asked_from_each_node():
    fleet, cluster, balancer = made()
    assert balancer.troubles() == {}
    address = cluster.site.network.api_vip
    assert {n for n, _ in fleet.asked} == {"m1", "m2"}
    program = "/usr/local/sbin/avadm-api-health"
    assert {c for _, c in fleet.asked} == {f"{program} 127.0.0.1 && {program} {address}"}


def test_a_node_that_is_silent_or_does_not_answer_is_named():
    fleet, _, balancer = made()
    fleet.silent, fleet.bad = {"m1"}, {"m2"}
    found = balancer.troubles()
    assert found["m1"].startswith("it cannot be reached") and "refused" in found["m2"]


def test_keepalived_that_was_stopped_before_stays_so_and_ours_starts_again():
    fleet, cluster, _ = made()
    away = AddressAway("m1")
    assert away.held(cluster) is False
    away.set(cluster)
    assert away.held(cluster) is True and fleet.stopped == {"m1"}
    away.unset(cluster)
    assert fleet.stopped == set()


def test_a_node_that_does_not_answer_is_no_node_without_the_address():
    fleet, cluster, _ = made()
    fleet.silent = {"m1"}
    with pytest.raises(AvadmError):
        AddressAway("m1").held(cluster)
    AddressAway("gone").unset(cluster)


class Balancers:
    """haproxy of some nodes: server to its admin state."""

    def __init__(self, **nodes):
        self.states, self.refused = nodes, ""

    def __call__(self, fleet, python, function, given, read):
        return {node: self._one(self.states[node], params) for node, params in given.items()}

    def _one(self, state, given):
        if state is None:
            return Answer(None, None, "no route")
        if self.refused:
            return Answer(None, {"away": state == "maint", "why": self.refused})
        state = {"away": "maint", "back": "ready"}.get(given["want"], state)
        for node, own in self.states.items():
            self.states[node] = own and state
        return Answer(None, {"away": state == "maint", "why": ""})


def test_requests_leave_an_api_server_and_come_again(monkeypatch):
    _, cluster, balancer = made()
    cluster.site_file.profile = SimpleNamespace(python="python3")
    haproxy = Balancers(m1="ready", m2="ready")
    monkeypatch.setattr(kinds, "ask_all", haproxy)
    (away,) = balancer.api_server("m1")
    assert away == ApiServerAway("m1") and away.held(cluster) is False
    away.set(cluster)
    assert away.held(cluster) is True
    haproxy.refused = "No such server."
    with pytest.raises(AvadmError):
        away.unset(cluster)
    haproxy.refused = ""
    away.unset(cluster)
    assert away.held(cluster) is False
    ApiServerAway("gone").unset(cluster)


def test_a_master_that_is_off_keeps_no_request_from_another(monkeypatch):
    _, cluster, _ = made()
    cluster.site_file.profile = SimpleNamespace(python="python3")
    monkeypatch.setattr(kinds, "ask_all", Balancers(m1="ready", m2=None))
    ApiServerAway("m1").set(cluster)
    assert ApiServerAway("m1").held(cluster) is True


def test_a_master_that_cannot_be_reached_may_still_keep_requests_away(monkeypatch):
    _, cluster, _ = made()
    cluster.site_file.profile = SimpleNamespace(python="python3")
    haproxy = Balancers(m1="maint", m2=None)
    monkeypatch.setattr(kinds, "ask_all", haproxy)
    with pytest.raises(AvadmError) as refused:
        ApiServerAway("m1").unset(cluster)
    assert "m2" in str(refused.value.findings[0]) and haproxy.states["m1"] == "ready", "the others are undone"


def test_the_only_api_server_and_a_worker_are_left_alone():
    assert made(masters=1)[2].api_server("m1") == ()
    assert made()[2].api_server("w1") == ()
