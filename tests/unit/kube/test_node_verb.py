"""`avadm node`, as a user types it; what the masters answer is made up."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from avadm.cli.main import App, cli
from avadm.kube import drain as module
from avadm.remote.call import script
from avadm.remote.reason import Reason, Why
from avadm.site.load import load
from avadm_node.probes.kube import drain
from tests.unit.fakes.cli import refusals
from tests.unit.fakes.nodes import answer
from tests.unit.fakes.nodes import given as asked

SITE = """
version: 1
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250}
nodes:
  - {name: mast1, address: 10.0.0.1, roles: [etcd, master]}
  - {name: mast2, address: 10.0.0.2, roles: [etcd, master]}
  - {name: mast3, address: 10.0.0.3, roles: [etcd, master]}
  - {name: comp1, address: 10.0.0.4, roles: [worker, dns]}
  - {name: comp2, address: 10.0.0.5, roles: [worker]}
  - {name: mon1, address: 10.0.0.6, roles: []}
"""
DONE = {"done": True, "evicted": [], "left": [], "refused": {}, "cordoned": True}
REFUSED = {"without-controller": ["lab/bare"], "local-data": ["shop/data"]}


def left(*pods, evicted=(), why=""):
    return {**DONE, "done": False, "evicted": list(evicted), "left": [{"pod": p, "why": why} for p in pods]}


class Masters:
    """ssh to masters that say what a test has them say: for a node either one answer or one after the other."""

    def __init__(self):
        self.asked, self.silent, self.broken, self.now = [], {}, {}, 0.0
        self.looks, self.drains, self.cordoned = {}, {}, set()

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.silent:
            return answer(node, command, rc=255, error=self.silent[node])
        given = asked(stdin)
        do, names = given["do"], given["names"]
        self.asked.append((node, do, *names))
        if do in self.broken:
            return answer(node, command, json.dumps({"error": self.broken[do], "nodes": {}}))
        report = {"nodes": {name: getattr(self, do)(name, given) for name in names}}
        return answer(node, command, f"a warning of ssh's\n{json.dumps(report)}\n")

    def look(self, name, given):
        found = {"cordoned": name in self.cordoned, "going": ["shop/a"], "refused": {}}
        return found | self.looks.get(name, {})

    def cordon(self, name, given, wanted=True):
        changed = (name in self.cordoned) != wanted
        (self.cordoned.add if wanted else self.cordoned.discard)(name)
        return {"changed": changed}

    def uncordon(self, name, given):
        return self.cordon(name, given, False)

    def drain(self, name, given):
        self.now += given["seconds"]
        answers = self.drains.get(name, [DONE])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def close(self, nodes=None):
        pass


@pytest.fixture
def masters():
    return Masters()


@pytest.fixture
def avadm(tmp_path, masters, monkeypatch):
    path = tmp_path / "site.yml"
    path.write_text(SITE)
    monkeypatch.setattr(App, "site_file", lambda self: load(path))
    monkeypatch.setattr(App, "fleet", lambda self: masters)
    run = module.drain
    # Its clock is a default of the function, read when it was defined.
    monkeypatch.setattr(
        module, "drain", lambda *given, **more: run(*given, lambda: masters.now, lambda _: None, **more)
    )
    return lambda *words: CliRunner().invoke(cli, ["node", *words], standalone_mode=False)


def test_cordon_and_uncordon_say_what_changed(avadm, masters):
    assert avadm("cordon", "comp1", "comp1", "comp2").output == "comp1 cordoned\ncomp2 cordoned\n"
    assert avadm("cordon", "comp1").output == "comp1 was cordoned already\n"
    report = json.loads(avadm("uncordon", "comp1", "--json").output)
    assert report == {"site": "t", "nodes": [{"node": "comp1", "changed": True}]}
    assert masters.cordoned == {"comp2"}


def test_every_name_that_is_none_is_reported_with_those_that_are(avadm, masters):
    found = refusals(avadm("drain", "comp9", "mon1", "comp1"))
    assert [f.found for f in found] == ["comp9", "mon1"]
    assert {f.wanted for f in found} == {"one of comp1-2, mast1-3"}
    assert masters.asked == []


def test_a_drain_cordons_all_nodes_before_the_first_and_tells_what_it_did(avadm, masters):
    masters.drains["comp1"] = [left("shop/b", evicted=["shop/a"]), DONE | {"evicted": ["shop/b"]}]
    result = avadm("drain", "comp1", "comp2")
    assert result.exception is None, result.exception
    assert [asked[1:] for asked in masters.asked] == [
        ("look", "comp1", "comp2"),
        ("cordon", "comp1", "comp2"),
        ("drain", "comp1"),
        ("drain", "comp1"),
        ("drain", "comp2"),
    ]
    assert "comp1: 1 left: shop/b" in result.output
    assert "comp1 drained: 2 pods evicted" in result.output
    assert masters.cordoned == {"comp1", "comp2"}


def test_what_would_be_lost_is_one_message_for_each_node_and_nothing_is_cordoned(avadm, masters):
    many = {"local-data": [f"x/{n}" for n in range(7)]}
    masters.looks = {"comp1": {"refused": REFUSED}, "comp2": {"refused": many}}
    one, two = refusals(avadm("drain", "comp1", "comp2"))
    assert ("lab/bare" in one.found, "shop/data" in one.found) == (True, True)
    assert ("--force" in one.remedy, "--delete-local-data" in one.remedy) == (True, True)
    assert "--force" not in two.remedy
    assert "x/4 and 2 more" in two.found
    assert {asked[1] for asked in masters.asked} == {"look"}


def test_a_node_that_kubernetes_does_not_know(avadm, masters):
    masters.looks["comp1"] = {"cordoned": None}
    assert [f.check for f in refusals(avadm("drain", "comp1"))] == ["node-unknown"]


def test_pods_that_are_kept_too_long_are_named_with_their_budget_and_the_node_stays_cordoned(avadm, masters):
    why = "kept by budget shop/web: 2 healthy, at least 2 wanted"
    masters.drains["comp1"] = [left("shop/b", why=why)]
    late, stays = refusals(avadm("drain", "comp1", "comp2", "--timeout", "25"))
    assert late.host == "comp1"
    assert late.found == f"shop/b ({why})"
    assert "replicas" in late.remedy
    # comp2 was cordoned for nothing, since its turn did not come.
    assert masters.cordoned == {"comp1"}
    assert (stays.where, str(stays.severity)) == ("comp1", "info")
    assert masters.now == 25
    masters.drains = {}
    assert "comp1 drained" in avadm("drain", "comp1").output


def test_a_node_refused_while_it_is_drained_stays_cordoned_only_if_pods_are_gone(avadm, masters):
    masters.drains["comp1"] = [DONE | {"done": False, "refused": REFUSED}]
    assert refusals(avadm("drain", "comp1"))[0].check == "drain-refused"
    assert masters.cordoned == set()
    masters.drains["comp1"].insert(0, left("lab/bare", evicted=["shop/a"]))
    assert refusals(avadm("drain", "comp1"))[-1].check == "left-cordoned"
    assert masters.cordoned == {"comp1"}


def test_one_that_was_cordoned_before_stays_so_whatever_comes(avadm, masters):
    masters.cordoned.add("comp1")
    masters.broken["drain"] = "kubectl drain: no"
    assert refusals(avadm("drain", "comp1"))
    assert masters.cordoned == {"comp1"}
    del masters.broken["drain"]
    report = json.loads(avadm("drain", "comp1", "--json").stdout)["nodes"]
    assert report == [{"node": "comp1", "was_cordoned": True, "evicted": [], "seconds": 10, "runs": []}]


def test_the_next_master_is_asked_where_one_is_silent_or_cannot(avadm, masters):
    masters.silent["mast1"] = Reason(Why.NO_ROUTE, "no route: mast1 (10.0.0.1) cannot be reached")
    assert avadm("cordon", "comp1").return_value is None
    assert masters.asked == [("mast2", "cordon", "comp1")]
    masters.broken["uncordon"] = "kubectl uncordon: Unable to connect to the server"
    found = refusals(avadm("uncordon", "comp1"))
    assert [f.host for f in found] == ["mast1", "mast2", "mast3"]
    assert "Unable to connect" in found[1].found


def test_what_a_master_runs_is_taken_by_python_and_asks_kubectl(tmp_path):
    """The program itself, before a kubectl that knows one node without pods."""
    fake = tmp_path / "kubectl"
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *\' get node w1 \'*) echo \'{"spec": {"unschedulable": true}}\';;\n'
        "*fieldSelector=spec.nodeName%3Dw1) echo '{\"items\": []}';; *) exit 3;; esac\n"
    )
    fake.chmod(0o755)
    looked = {"cordoned": True, "going": [], "refused": {}, "runs": {}}
    for do, wanted in (("look", looked), ("cordon", {"changed": False})):
        text = script(drain.answer, {"do": do, "names": ["w1"]})
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, env=env)
        assert json.loads(done.stdout) == {"nodes": {"w1": wanted}}, done.stderr
