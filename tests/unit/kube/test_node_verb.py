"""`avadm node`, as a user types it; what the masters answer is made up."""

import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from avadm.cli.main import App, cli
from avadm.kube import drain as module
from avadm.remote.call import script
from avadm.remote.reason import Reason, Why
from avadm.site.load import load
from avadm_node.probes.kube import drain
from tests.unit.fakes.cli import refusals
from tests.unit.fakes.nodes import Nodes, answer, called
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


class Masters(Nodes):
    """Nodes, whose masters say what a test has them say: for a node either one answer or one after the other."""

    def __init__(self, root):
        super().__init__(root)
        self.calls, self.unreached, self.broken = [], {}, {}
        self.looks, self.drains, self.cordoned = {}, {}, set()

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if stdin is None or called(stdin) != "kube.drain.answer":
            return super().run(node, command, timeout=timeout, stdin=stdin)
        if node in self.unreached:
            return answer(node, command, rc=255, error=self.unreached[node])
        given = asked(stdin)
        do, names = given["do"], given["names"]
        self.calls.append((node, do, *names))
        if do in self.broken:
            return answer(node, command, json.dumps({"error": self.broken[do], "nodes": {}}))
        report = {"nodes": {name: getattr(self, do)(name, given) for name in names}}
        return answer(node, command, f"a warning of ssh's\n{json.dumps(report)}\n")

    def look(self, name, given):
        allowed = {"without-controller": given.get("force"), "local-data": given.get("delete_local_data")}
        found = {"cordoned": name in self.cordoned, "going": ["shop/a"], "refused": {}, "runs": {}}
        found |= self.looks.get(name, {})
        return found | {"refused": {why: pods for why, pods in found["refused"].items() if not allowed[why]}}

    def cordon(self, name, given, wanted=True):
        changed = (name in self.cordoned) != wanted
        (self.cordoned.add if wanted else self.cordoned.discard)(name)
        return {"changed": changed}

    def uncordon(self, name, given):
        return self.cordon(name, given, False)

    def drain(self, name, given):
        answers = self.drains.get(name, [DONE])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def did(self, *verbs):
        return [one[1:] for one in self.calls if one[1] in (verbs or ("cordon", "uncordon", "drain"))]

    def close(self, nodes=None):
        pass


@pytest.fixture
def masters(tmp_path):
    return Masters(tmp_path / "nodes")


@pytest.fixture
def avadm(tmp_path, masters, monkeypatch):
    path = tmp_path / "site.yml"
    path.write_text(SITE)
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(App, "site_file", lambda self: load(path))
    monkeypatch.setattr(App, "fleet", lambda self: masters)
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
    assert masters.calls == []


def test_a_drain_cordons_all_nodes_before_the_first_and_shows_what_is_left(avadm, masters):
    masters.drains["comp1"] = [left("shop/b", evicted=["shop/a"]), DONE | {"evicted": ["shop/b"]}]
    result = avadm("drain", "comp1", "comp2", "--yes")
    assert result.exception is None, result.exception
    assert masters.did() == [
        ("cordon", "comp1"),
        ("cordon", "comp2"),
        ("drain", "comp1"),
        ("drain", "comp1"),
        ("drain", "comp2"),
    ]
    assert "comp1: 1 left: shop/b" in result.output
    assert "comp1: 2 pods evicted" in result.output
    assert "Drained and cordoned: comp1, comp2" in result.output
    assert masters.cordoned == {"comp1", "comp2"}


def test_a_dry_run_shows_the_plan_as_text_and_json_and_changes_nothing(avadm, masters):
    text = avadm("drain", "comp1", "--dry-run").output
    assert "evict the pods of comp1" in text
    plan = json.loads(avadm("drain", "comp1", "--dry-run", "--json").stdout)
    assert (plan["verb"], plan["nodes"], plan["runs"]) == ("node drain", ["comp1"], [])
    former = avadm("drain", "comp1", "--check")
    assert "`--check` is now `--dry-run`" in former.output
    assert masters.did() == []


def test_what_would_be_lost_is_refused_by_id_and_nothing_is_cordoned(avadm, masters):
    many = {"local-data": [f"x/{n}" for n in range(7)]}
    masters.looks = {"comp1": {"refused": REFUSED}, "comp2": {"refused": many}}
    found = refusals(avadm("drain", "comp1", "comp2"))
    assert [(f.host, f.check) for f in found] == [
        ("comp1", "pods-without-controller"),
        ("comp1", "pods-local-data"),
        ("comp2", "pods-local-data"),
    ]
    assert all(f"--accept {f.check}" in f.remedy for f in found)
    assert "x/4 and 2 more" in found[2].found
    assert masters.did() == []
    assert [f.check for f in refusals(avadm("drain", "comp1", "--accept", "pods-local-data"))] == [
        "pods-without-controller"
    ]
    assert [f.check for f in refusals(avadm("drain", "comp1", "--accept", "all"))] == ["accept-unknown"]


def test_former_flags_accept_the_refusals_with_a_warning(avadm, masters):
    masters.looks["comp1"] = {"refused": REFUSED}
    done = avadm("drain", "comp1", "--force", "--delete-local-data", "--yes")
    assert done.exception is None, done.exception
    assert "`--force` is now `--accept pods-without-controller`" in done.output
    assert masters.cordoned == {"comp1"}


@pytest.mark.parametrize("words", [("--notice", "8d"), ("--notice", "soon"), ("--timeout", "0")])
def test_bad_values_of_options_are_refused(avadm, masters, words):
    assert isinstance(avadm("drain", "comp1", *words).exception, click.BadParameter)
    assert masters.calls == []


def test_a_node_that_kubernetes_does_not_know(avadm, masters):
    masters.looks["comp1"] = {"cordoned": None}
    assert [f.check for f in refusals(avadm("drain", "comp1"))] == ["node-unknown"]


def failed(result):
    assert result.exception.exit_code == 1, result.output
    return result.exception.findings


def test_pods_that_are_kept_too_long_are_named_with_their_budget_and_all_is_undone(avadm, masters):
    why = "kept by budget shop/web: 2 healthy, at least 2 wanted"
    masters.drains["comp1"] = [left("shop/b", why=why)]
    [late] = failed(avadm("drain", "comp1", "comp2", "--timeout", "1", "--yes"))
    assert late.host == "comp1"
    assert late.found == f"shop/b ({why})"
    assert "replicas" in late.remedy
    assert "avadm node uncordon comp1 comp2" in late.remedy
    assert masters.cordoned == set()
    # It is half done: the same command continues, another is refused, and `uncordon` of all of its nodes gives up.
    assert [f.check for f in refusals(avadm("drain", "comp2"))] == ["operation-half-done"]
    masters.drains = {}
    assert avadm("drain", "comp1", "comp2", "--yes").exception is None
    assert masters.cordoned == {"comp1", "comp2"}


def test_uncordon_gives_up_a_half_done_drain_of_these_nodes(avadm, masters):
    masters.drains["comp1"] = [left("shop/b")]
    failed(avadm("drain", "comp1", "comp2", "--timeout", "1", "--yes"))
    assert avadm("uncordon", "comp1").exception is None
    assert [f.check for f in refusals(avadm("drain", "comp2"))] == ["operation-half-done"]
    done = avadm("uncordon", "comp1", "comp2")
    assert "give up `avadm node drain comp1 comp2`" in done.output
    assert avadm("drain", "comp2", "--yes").exception is None


def test_a_node_refused_while_it_is_drained_is_as_before(avadm, masters):
    masters.drains["comp1"] = [
        left("lab/bare", evicted=["shop/a"]),
        DONE | {"done": False, "refused": REFUSED},
    ]
    found = failed(avadm("drain", "comp1", "--yes"))
    assert {f.check for f in found} == {"pods-without-controller", "pods-local-data"}
    assert "--accept pods-local-data" in found[1].remedy
    assert masters.cordoned == set()


def test_one_that_was_cordoned_before_stays_so_whatever_comes(avadm, masters, monkeypatch):
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    masters.cordoned.add("comp1")
    masters.broken["drain"] = "kubectl drain: no"
    failed(avadm("drain", "comp1", "--yes"))
    assert masters.cordoned == {"comp1"}
    del masters.broken["drain"]
    report = json.loads(avadm("drain", "comp1", "--yes", "--json").stdout)
    assert (report["site"], report["result"]) == ("t", "good")
    assert masters.cordoned == {"comp1"}


def test_the_next_master_is_asked_where_one_is_silent_or_cannot(avadm, masters):
    masters.unreached["mast1"] = Reason(Why.NO_ROUTE, "no route: mast1 (10.0.0.1) cannot be reached")
    assert avadm("cordon", "comp1").return_value is None
    assert masters.calls == [("mast2", "cordon", "comp1")]
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
