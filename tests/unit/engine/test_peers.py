"""Nodes whose peers are updated without a playbook: input, effect and failures."""

import stat
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from avadm.components.catalog import PHASES
from avadm.engine import peers
from avadm.engine.peers import PeersFirst, Telling
from avadm.inventory.model import Variables
from avadm.remote.ansible import PlaybookResult, PlaybookRun
from avadm.remote.events import Event, Kind
from avadm.state.snapshots import HostSnapshot
from avadm_node import peers as there
from tests.unit.fakes.nodes import Nodes
from tests.unit.fakes.roles import program
from tests.unit.fakes.scripts import ROOT

service = program("../plugins/action/avadm_service.py", "avadm_service_action")
LINES = "10.0.0.1 a.example a\n10.0.0.2 b.example b"
NAMES = ("a", "b", "c")


class Prints:
    def get(self, phase, host):
        return HostSnapshot("r", host, {f"file /etc/{phase}": "1", "unproven that": "!what"})


class Playbook:
    def __init__(self, kind=Kind.OK):
        self.limits, self.kind = [], kind

    def run(self, request, on_event, canceled):
        self.limits.append(request.limit)
        stats = {h: {"ok": 7, "changed": 0, "failed": int(self.kind is Kind.FAILED)} for h in request.limit}
        on_event(Event(0.0, request.phase, Kind.STATS, stats=stats))
        return PlaybookResult(0 if self.kind is Kind.OK else 2)


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Return a function: tell nodes; the result, the events, the playbook and the nodes."""
    monkeypatch.setattr(peers.time, "sleep", lambda _: None)
    monkeypatch.setattr(peers, "MARGIN_S", -peers.CONFIRM_S)
    nodes, second = Nodes(tmp_path), Nodes(tmp_path)
    rules = {"k1": "table one", "k2": "table two"}
    own = {name: {"packet_filter_kind": "k2" if name == "c" else "k1"} for name in NAMES}

    def tell(phase, received, *, limit=NAMES, check=False, playbook=None, canceled=lambda: False):
        telling = Telling(
            hosts={phase: received},
            variables=Variables({"base_hosts": LINES, "packet_filter_rules": rules}, own),
            home=ROOT,
            fleet=nodes,
            again=lambda: nullcontext(second),
            python="/usr/bin/python3",
            prints=Prints(),
        )
        playbook, events = playbook or Playbook(), []
        request = PlaybookRun(phase, Path("p.yml"), tmp_path, limit, check=check)
        result = PeersFirst(playbook, telling).run(request, events.append, canceled)
        return result, events, playbook

    tell.nodes, tell.second = nodes, second
    return tell


def counts(events):
    return [e.stats for e in events if e.kind is Kind.STATS][-1]


def test_who_only_has_to_be_reported_gets_what_the_role_would_write(room):
    result, events, playbook = room("base", ("a", "b"))
    assert playbook.limits == [("c",)]
    assert (result.rc, result.through) == (0, ("a", "b"))
    templar = Templar(DataLoader(), variables={"base_hosts": LINES})
    path = str(ROOT / "roles/base/templates/hosts.j2")
    by_role = service.ActionModule(None, None, None, None, templar, None)._render(
        path, "hosts.j2", {"base_hosts": LINES}
    )
    assert room.nodes.peer_calls == {h: {"peers.hosts": by_role} for h in ("a", "b")}
    changed = [e for e in events if e.kind is Kind.CHANGED]
    assert [(e.host, e.manages) for e in changed] == [(h, ("file /etc/base",)) for h in ("a", "b")]
    assert {h: c["ok"] for h, c in counts(events).items()} == {"a": 1, "b": 1, "c": 7}


def test_where_all_are_reported_no_playbook_starts_and_again_changes_nothing(room):
    for changed in (1, 0):
        result, events, playbook = room("base", NAMES)
        assert (playbook.limits, result) == ([], PlaybookResult(0, False, NAMES))
        assert {c["changed"] for c in counts(events).values()} == {changed}


def test_rules_are_kept_by_a_connection_of_their_own(room):
    result, _, playbook = room("filter", NAMES)
    assert (playbook.limits, result.through) == ([], NAMES)
    assert {h: t["peers.rules"] for h, t in room.nodes.peer_calls.items()} == {
        "a": "table one",
        "b": "table one",
        "c": "table two",
    }
    assert room.second.peer_calls == {h: {"peers.keep": None} for h in NAMES}
    room.second.peer_calls.clear()
    room("filter", NAMES)
    assert room.second.peer_calls == {}, "rules that are loaded already are not tried"


@pytest.mark.parametrize("asked", ["nodes", "second"])
def test_who_does_not_answer_is_left_to_the_playbook(room, asked):
    getattr(room, asked).silent.add("b")
    result, events, playbook = room("filter", NAMES)
    assert (playbook.limits, result.through) == ([("b",)], ("a", "c"))
    messages = [e.message for e in events if e.kind is Kind.LOG]
    assert messages == ["b could not be updated directly, so the playbook runs there: no route"]
    assert counts(events)["b"]["ok"] == 7


def test_a_node_s_refusal_is_reported(room):
    room.nodes.refusing["a"] = {"peers.rules"}
    _, events, playbook = room("filter", NAMES)
    assert playbook.limits == [("a",)]
    assert "RuntimeError: no" in next(e.message for e in events if e.kind is Kind.LOG)


def test_cut_off_nodes_are_waited_for_until_they_have_taken_the_rules_back(room, monkeypatch):
    waited = []
    clock = iter(range(1000))
    monkeypatch.setattr(peers, "MARGIN_S", 15)
    monkeypatch.setattr(peers.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(peers.time, "sleep", waited.append)
    room.second.silent.add("a")
    room("filter", NAMES)
    assert 60 < len(waited) < 80
    waited.clear()
    room.nodes.peer_calls.clear()
    result, _, playbook = room("filter", ("a",), limit=("a",), canceled=lambda: True)
    assert (waited, playbook.limits, result) == ([], [], PlaybookResult(254, True))


def test_a_dry_run_and_other_phases_are_the_playbook_s(room):
    assert room("base", NAMES, check=True)[2].limits == [NAMES]
    assert room("filter", ())[2].limits == [NAMES]
    assert room.nodes.peer_calls == {}


def test_a_playbook_that_fails_fails_the_phase_and_who_was_reported_is_through(room):
    result, events, _ = room("base", ("a",), playbook=Playbook(Kind.FAILED))
    assert (result.rc, result.through) == (2, ("a",))
    assert counts(events)["a"]["failed"] == 0


def test_the_seconds_and_the_path_are_those_of_the_roles():
    defaults = yaml.safe_load((ROOT / "roles/packet_filter/defaults/main.yml").read_text(encoding="utf-8"))
    assert defaults["packet_filter_confirm_s"] == peers.CONFIRM_S
    assert (
        f"path: {peers.HOSTS}, template: {peers.TEMPLATE.name}"
        in (ROOT / "roles/base/tasks/main.yml").read_text()
    )
    assert there.PROGRAM in (ROOT / "roles/packet_filter/tasks/main.yml").read_text(encoding="utf-8")


def test_only_phases_that_can_tell_have_something_to_tell():
    """Every other one would load its phase's variables as a packet filter's rules."""
    assert {p.name: p.peer_inputs[0] for p in PHASES if p.peer_inputs} == {
        "base": "base_hosts",
        "filter": "packet_filter_rules",
    }


def test_a_file_is_replaced_whole_with_its_mode(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("old")
    path.chmod(0o640)
    given = {"path": str(path), "content": "neu\n"}
    assert [there.hosts(given) for _ in range(2)] == [{"changed": True}, {"changed": False}]
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("neu\n", 0o640)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_a_mount_is_written_in_place(tmp_path, monkeypatch):
    path = tmp_path / "hosts"
    path.write_text("old, and longer")
    inode = path.stat().st_ino

    def refuse(*_):
        raise OSError(16, "busy")

    monkeypatch.setattr(there.os, "rename", refuse)
    assert there.hosts({"path": str(path), "content": "new\n"}) == {"changed": True}
    assert (path.read_text(), path.stat().st_ino) == ("new\n", inode)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_gone_is_not_made_again(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        there.hosts({"path": str(tmp_path / "hosts"), "content": "x"})
    assert list(tmp_path.iterdir()) == []


def test_rules_go_to_the_node_s_program(tmp_path, monkeypatch):
    script = tmp_path / "filter"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/words\n[ "$1" != try ] || cat "$2" > {tmp_path}/rules\n'
        'echo \'{"changed": true, "armed": true}\'\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(there, "PROGRAM", str(script))
    assert there.rules({"rules": "table ü", "seconds": 7}) == {"changed": True, "armed": True}
    there.keep({})
    assert (tmp_path / "rules").read_text(encoding="utf-8") == "table ü"
    words = [line.split() for line in (tmp_path / "words").read_text().splitlines()]
    assert (words[0][0], words[0][2], words[1]) == ("try", "7", ["keep"])
    script.write_text("#!/bin/sh\necho 'nft does not take these rules' >&2; exit 1\n")
    with pytest.raises(RuntimeError, match="try: nft does not take"):
        there.rules({"rules": "x", "seconds": 7})
