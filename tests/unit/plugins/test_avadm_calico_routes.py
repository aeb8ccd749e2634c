"""avadm_calico_routes: new sessions are made before old ones are ended, and what is right is left alone."""

import json

import pytest
from avadm_calico_routes import CLUSTER, LABEL, PEER, Routes, RoutesError


class Calico:
    """calicoctl in front of a store of objects."""

    def __init__(self, *names):
        self.kinds = {"node": {}, "bgppeer": {}, "bgpconfiguration": {}}
        for name in names:
            meta = {"name": name, "labels": {"rack": "r1"}}
            self.put("node", {"metadata": meta, "spec": {"bgp": {"ipv4Address": "x"}}})
        self.done = []

    def put(self, kind, one):
        self.kinds[kind][one["metadata"]["name"]] = one

    def __call__(self, argv, data):
        verb = argv[1]
        if verb == "get":
            return 0, json.dumps({"items": list(self.kinds[argv[2]].values())}), ""
        if verb == "delete":
            del self.kinds[argv[2]][argv[3]]
            self.done.append("no peer")
            return 0, "", ""
        one = json.loads(data)
        kind = one.get("kind", "node").lower()
        self.put(kind, one)
        spec = one["spec"]
        mesh = f"mesh {spec.get('nodeToNodeMeshEnabled')}"
        self.done.append({"bgppeer": "peer", "node": one["metadata"]["name"]}.get(kind, mesh))
        return 0, "", ""

    def keep(self, reflectors, *switches, dry=False):
        routes = Routes(self, "calicoctl", lambda seconds: self.done.append(f"pause {seconds}"))
        return routes.keep(dry, reflectors, *switches)

    @property
    def bgp(self):
        return self.kinds["bgpconfiguration"]["default"]["spec"]


def test_reflectors_are_at_work_before_the_mesh_ends_and_the_second_time_changes_nothing():
    calico = Calico("a", "b", "c")
    assert len(calico.keep(["a", "b"])) == 4
    assert calico.done == ["peer", "a", "b", "pause 15", "mesh False"]
    assert calico.kinds["bgppeer"][PEER]["spec"] == {"nodeSelector": "all()", "peerSelector": f"has({LABEL})"}
    node = calico.kinds["node"]["a"]
    assert node["spec"]["bgp"] == {"ipv4Address": "x", "routeReflectorClusterID": CLUSTER}
    assert node["metadata"]["labels"] == {"rack": "r1", LABEL: ""}
    assert LABEL not in calico.kinds["node"]["c"]["metadata"]["labels"]
    assert calico.keep(["a", "b"]) == []


def test_the_mesh_is_back_before_the_reflectors_end():
    calico = Calico("a", "b")
    calico.keep(["a"])
    calico.done.clear()
    calico.keep([])
    assert calico.done == ["mesh True", "pause 15", "a", "no peer"]
    assert calico.kinds["node"]["a"]["spec"]["bgp"] == {"ipv4Address": "x"}
    assert calico.keep([]) == []


def test_another_reflector_takes_over():
    calico = Calico("a", "b")
    calico.keep(["a"])
    calico.done.clear()
    assert calico.keep(["b"]) == ["b reflects routes", "a does not reflect routes"]
    assert calico.done == ["b", "pause 15", "a"]


@pytest.mark.parametrize("dry", [False, True], ids=["an unchanged mesh", "a dry run"])
def test_nothing_is_changed(dry):
    calico = Calico("a")
    assert bool(calico.keep(["a"] if dry else [], dry=dry)) is dry
    assert calico.done == []


def test_a_reflector_that_calico_does_not_know_is_named():
    with pytest.raises(RoutesError, match="no node z; it knows a"):
        Calico("a").keep(["z"])


def test_what_calicoctl_says_is_reported():
    with pytest.raises(RoutesError, match="calicoctl get node: etcd is down"):
        Routes(lambda argv, data: (1, "", "etcd is down"), "calicoctl").keep(False, [])


SWITCHES = [
    {"address": "10.0.0.1", "as_number": 65001, "node": "a"},
    {"address": "10.0.0.2", "as_number": 65002, "node": ""},
]


def test_reflectors_speak_to_the_switches():
    calico = Calico("a", "b")
    calico.keep(["a"], SWITCHES, 64999)
    specs = {name: one["spec"] for name, one in calico.kinds["bgppeer"].items() if name != PEER}
    assert specs == {
        "avadm-switch-10-0-0-1-a": {"peerIP": "10.0.0.1", "asNumber": 65001, "node": "a"},
        "avadm-switch-10-0-0-2": {"peerIP": "10.0.0.2", "asNumber": 65002},
    }
    assert calico.bgp == {"asNumber": 64999, "nodeToNodeMeshEnabled": False}
    assert calico.keep(["a"], SWITCHES, 64999) == []
    calico.done.clear()
    report = calico.keep(["a"], SWITCHES[:1], 64999)
    assert report == ["session avadm-switch-10-0-0-2 is removed"]
    assert set(calico.kinds["bgppeer"]) == {PEER, "avadm-switch-10-0-0-1-a"}
    calico.keep([])
    assert calico.kinds["bgppeer"] == {}
    assert calico.bgp == {"asNumber": 64512, "nodeToNodeMeshEnabled": True}


def test_sessions_with_switches_are_there_before_the_mesh_ends():
    calico = Calico("a", "b")
    calico.put("bgppeer", {"metadata": {"name": "others"}, "spec": {"peerIP": "10.9.9.9", "asNumber": 1}})
    calico.keep([], SWITCHES[1:], 64512, False)
    assert calico.done == ["peer", "pause 15", "mesh False"]
    assert "others" in calico.kinds["bgppeer"], "what somebody else made is left alone"
