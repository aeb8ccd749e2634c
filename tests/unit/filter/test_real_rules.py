"""The rules of a site at work: real nft, real connections, port by port; what is expected follows from the components' table."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from avadm.components.packet_filter import variables as packet_filter
from avadm.site.load import load
from tests.port_access import may as who_may
from tests.port_access import words as table_words

ROOT = Path(__file__).parents[3]
SITE = load(ROOT / "inventory/small.yml").site
POD, OUTSIDE = "10.244.3.5", "192.0.2.7"
UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
KINDS = {text: name for name, text in reversed(packet_filter.texts(SITE).items())}
"""One node of each kind, by its rules."""


@cache
def missing() -> str:
    """Return why nothing can be tried here; "" where it can."""
    if os.geteuid() != 0:
        return "needs root"
    if absent := [name for name in ("nft", "ip", "unshare") if shutil.which(name) is None]:
        return f"needs {', '.join(absent)}"
    done = subprocess.run([*UNSHARE, "nft", "add", "table", "ip", "avadm"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"no namespaces, or no nf_tables: {done.stderr.decode()}"


def room(folder, do, **job):
    """Do a job in a room of its own (room.py)."""
    if why := missing():
        pytest.skip(why)
    argv = [*UNSHARE, sys.executable, str(Path(__file__).with_name("room.py")), str(folder)]
    done = subprocess.run(
        argv, input=json.dumps({"do": do, **job}), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def words():
    return table_words(SITE)


def may(node, word, source):
    return who_may(SITE, node, word, source)


def who(node):
    """Return who is in a node's room: it, all others, a pod, somebody outside."""
    others = [str(n.address) for n in SITE.nodes if n.name != node]
    return [str(SITE.node(node).address), others, POD, OUTSIDE]


def rules(node):
    return packet_filter.texts(SITE)[node]


@pytest.mark.parametrize("node", KINDS.values())
def test_who_reaches_a_port_is_what_the_table_says(tmp_path, node):
    seen = room(tmp_path, "matrix", who=who(node), ports=words(), rules=rules(node))
    names = {POD: "pod", OUTSIDE: "outside", **{str(n.address): n.name for n in SITE.nodes if n.name != node}}
    wanted = {name: sorted(w for w in words() if may(node, w, name)) for name in names.values()}
    assert {name: sorted(seen["open"].get(address, [])) for address, name in names.items()} == wanted
    asked = len(names) * len(words())
    assert seen["status"]["same"]
    assert seen["status"]["lately"] == asked - sum(map(len, wanted.values())), (
        "each one's refusal is remembered"
    )


def test_of_other_nodes_a_pod_reaches_what_pods_may_come_to(tmp_path):
    """By way of its own node, behind whose address the others would not see it."""
    node = "compute2"
    seen = room(tmp_path, "away", who=who(node), ports=words(), rules=rules(node))
    others = [n.name for n in SITE.nodes if n.name != node]
    assert sorted(seen["pod"][POD]) == sorted(w for w in words() if any(may(n, w, "pod") for n in others))
    assert set(seen["pod"][POD]) >= {"t53", "u53", "t6443", "t443", "t5000"}
    assert sorted(seen["outside"][OUTSIDE]) == words(), "what is no pod's is not judged on the way"


def test_what_was_open_before_the_first_rules_goes_on(tmp_path):
    seen = room(tmp_path, "going on", who=who("storage1"), rules=rules("storage1"))
    assert seen == {"heard": "b'2'", "new": {}}


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """Return what came of rules that were tried, kept, taken back, changed by hand and removed."""
    good = rules("storage1")
    bad = good.replace("tcp dport 22 accept", "tcp dport 23 accept")
    return room(tmp_path_factory.mktemp("tried"), "revert", who=who("storage1"), good=good, bad=bad)


@pytest.mark.parametrize("former", [False, True])
def test_rules_that_cut_off_the_controller_are_taken_back(tried, former):
    before, reply, cut, back, late, after = tried["after former" if former else "after none"]
    assert (before["loaded"], reply["armed"], cut, back) == (former, True, True, True)
    assert (after["same"], after["kept"]) == (former, before["kept"])
    assert "taken back" in late["refused"]


def test_rules_are_loaded_once_and_whole(tried):
    assert tried["good"] == [{"armed": True, "changed": True}, {"kept": True}]
    assert tried["again"] == [{"armed": False, "changed": False}, {"changed": False, "loads": False}]
    reply, status = tried["broken"]
    assert "nothing was changed" in reply["refused"]
    assert status["same"]
    assert tried["by hand"] == [False, {"armed": True, "changed": True}, {"kept": True}, True]


def test_rules_that_someone_tried_and_did_not_keep_are_tried_again(tried):
    same, still_same, first, second, kept, armed = tried["twice"]
    assert same == {"armed": False, "changed": True}
    assert still_same == {"armed": False, "changed": False}
    assert first == second == {"armed": True, "changed": True}
    assert (kept, armed) == ({"kept": True}, False)


def test_without_a_filter_nothing_is_left_and_other_tables_are_as_they_were(tried):
    first, again, status = tried["off"]
    assert (first, again, status["loaded"]) == ({"changed": True}, {"changed": False}, False)
    assert tried["theirs"].count("theirs") == 2
    assert "avadm" not in tried["theirs"]
