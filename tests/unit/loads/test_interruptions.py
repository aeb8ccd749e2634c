"""Interruptions leave nothing behind: a killed verb is dead, a filter's rule is gone, also after a kill of the test itself."""

import os
import select
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from tests.lab.day2 import interruptions
from tests.lab.waiting import until
from tests.unit.loads.one_machine import OneMachine

VERB = "import time\nfor n in range(1, 4):\n    print(f'[{n}/3] step {n} of osd.{n}', flush=True)\n    time.sleep(SLEEP)\n"
# A packet filter of one file: a rule a line.
IPTABLES = """#!/bin/sh
rules=$(dirname "$0")/rules
touch "$rules"
what=$2; shift 2
case $what in
-I) echo "$*" >> "$rules" ;;
-D) grep -qxF -- "$*" "$rules" || exit 1; grep -vxF -- "$*" "$rules" > "$rules.new"; mv "$rules.new" "$rules" ;;
esac
"""


@pytest.fixture
def verb(monkeypatch):
    def start(*words):
        program = VERB.replace("SLEEP", words[0])
        begun = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        # A busy machine takes seconds to start Python: time counts from the first line on.
        assert select.select([begun.stdout], [], [], 60)[0]
        return begun

    monkeypatch.setattr(interruptions, "start", start)


@pytest.mark.parametrize(("at", "last"), [(2, "[2/3]"), ("osd.3", "[3/3]")])
def test_a_verb_is_killed_when_its_step_begins(verb, at, last):
    found = interruptions.killed(["0.3"], at)
    assert found.alive
    assert found.output.splitlines()[-1].startswith(last)


def test_a_verb_is_killed_after_some_seconds(verb):
    begun = time.monotonic()
    found = interruptions.killed(["30"], 0.5)
    assert found.alive
    assert time.monotonic() - begun < 10
    assert found.output.splitlines() == ["[1/3] step 1 of osd.1"]


@pytest.mark.parametrize("at", [9, "osd.9", 20.0])
def test_a_verb_that_has_ended_before_was_not_killed(verb, at):
    found = interruptions.killed(["0"], at)
    # Its end may be a moment after its last line.
    assert found.output.count("step") == 3
    assert not found.alive or not isinstance(at, float)


def test_moments_are_repeated_by_their_seed(monkeypatch, capsys):
    first = interruptions.moments(60)
    printed = capsys.readouterr().out
    seed = printed.partition("AVADM_SEED=")[2].split()[0]
    monkeypatch.setenv("AVADM_SEED", seed)
    assert interruptions.moments(60) == first
    assert all(0.1 <= moment <= 60 for moment in first)


@pytest.fixture
def filtered(monkeypatch, tmp_path):
    """A lab on a bridge, and the file of the packet filter's rules."""
    lab = OneMachine(tmp_path)
    path = lab.bin / "iptables"
    path.write_text(IPTABLES)
    path.chmod(0o755)
    (lab.bin / "rules").write_text("OUTPUT -d 10.0.0.9 -j DROP\n")
    monkeypatch.setenv("PATH", f"{lab.bin}:{os.environ['PATH']}")
    config = SimpleNamespace(name="lab")
    monkeypatch.setattr(interruptions.folder, "default", lambda: SimpleNamespace(config=lambda: config))
    return lab, lab.bin / "rules"


def test_the_cut_is_on_the_bridge_and_to_the_nodes_alone_and_ends_with_its_block(filtered):
    lab, rules = filtered
    before = rules.read_text()
    with pytest.raises(RuntimeError), interruptions.cut_off(lab):
        (rule,) = set(rules.read_text().splitlines()) - set(before.splitlines())
        assert rule.startswith("OUTPUT -o avadm-lab -d 127.0.0.1,127.0.0.1 ")
        raise RuntimeError
    assert rules.read_text() == before


def test_the_cut_ends_also_where_the_test_is_killed(filtered, monkeypatch):
    lab, rules = filtered
    before = rules.read_text()
    monkeypatch.setattr(interruptions, "SLACK_S", 0)
    child = os.fork()
    if child == 0:
        with interruptions.cut_off(lab, 1):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert rules.read_text() != before
    until(lambda: rules.read_text() == before, 10, 0.1)


def test_without_a_lab_nothing_is_cut(filtered, monkeypatch):
    lab, rules = filtered
    before = rules.read_text()
    monkeypatch.setattr(interruptions.folder, "default", lambda: SimpleNamespace(config=lambda: None))
    with pytest.raises(AssertionError, match="no lab"), interruptions.cut_off(lab):
        pass
    assert rules.read_text() == before


def test_a_node_has_power_again_also_where_the_block_fails(monkeypatch):
    asked = []

    def avadm(*words):
        asked.append(words)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(interruptions, "avadm", avadm)
    monkeypatch.setattr(interruptions, "reachable", lambda lab, node: asked.append("reachable"))
    with pytest.raises(RuntimeError), interruptions.powered_off(None, "stor1"):
        raise RuntimeError
    assert asked == [("lab", "power", "stor1", "off"), ("lab", "power", "stor1", "on"), "reachable"]
