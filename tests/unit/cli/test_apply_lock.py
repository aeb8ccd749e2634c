"""Two controllers, dead runs, broken locks, and copies of the state, on nodes that are folders."""

import json
import os
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from avadm.site.load import load
from avadm.state.lock.nodes import LockNodes
from avadm.state.lock.owner import machine, owner, started
from avadm.state.lock.site import lock_nodes
from avadm_node.probes import lock as node_lock
from tests.unit.fakes.cli import MONS, SITE, refusal, refusals


def lock(nodes, node):
    return nodes.path(node, "/var/lib/avadm/t/lock")


def plant(nodes, where, **fields):
    for node in where:
        lock(nodes, node).parent.mkdir(parents=True, exist_ok=True)
        half = lock(nodes, node).with_name("half")
        half.write_text(json.dumps({**owner("apply"), "token": "theirs", **fields}))
        half.replace(lock(nodes, node))


def noted(nodes, node):
    return json.loads(lock(nodes, node).read_text())


def taken(nodes):
    return [node for node in MONS if lock(nodes, node).exists()]


def copy_of(nodes, node):
    """Return the state's copy on a node."""
    return nodes.path(node, "/var/lib/avadm/t/state.json")


@pytest.fixture
def state_file(tmp_path):
    return tmp_path / ".avadm/t/ledger.json"


def test_the_lock_is_there_while_a_run_is_at_work_and_gone_afterwards(avadm, nodes, playbooks, monkeypatch):
    seen = []
    run = playbooks.run

    def look(*args):
        seen.extend(noted(nodes, n) for n in MONS)
        assert {lock(nodes, n).stat().st_mode & 0o777 for n in MONS} == {0o600}
        return run(*args)

    monkeypatch.setattr(playbooks, "run", look)
    assert avadm("apply", "base").exit_code == 0
    assert {(o["verb"], o["pid"]) for o in seen} == {("apply", os.getpid())}
    assert taken(nodes) == []
    assert [p.name for p in lock(nodes, "stor1").parent.iterdir()] == ["state.json"]


def test_a_second_controller_is_refused_with_who_since_and_heartbeat(avadm, nodes, playbooks, tmp_path):
    other = tmp_path / "other" / "site.yml"
    other.parent.mkdir()
    other.write_text(SITE + "ssh: {key: other_key}\n")
    first = LockNodes(load(tmp_path / "site.yml"), nodes)
    with lock_nodes(first, "apply", print):
        report = refusal(avadm("apply", site=other))
    assert report.check == "cluster-locked"
    for word in ("`avadm apply`", f"process {os.getpid()}", "since 20"):
        assert word in report.found
    assert re.search(r"last heartbeat \d+ s ago", report.found)
    assert playbooks.requests == []
    assert avadm("apply", "base", site=other).exit_code == 0


def test_a_lock_of_another_machine_stays_until_it_is_broken_by_name(avadm, nodes, tmp_path):
    plant(nodes, MONS, machine="elsewhere", host="desk7", user="eve")
    old = lock(nodes, "stor1").stat().st_mtime - 3600
    for node in MONS:
        os.utime(lock(nodes, node), (old, old))
    report = refusal(avadm("apply", "base"))
    assert "desk7, user eve" in report.found
    assert "last heartbeat 3600 s ago" in report.found
    assert noted(nodes, "stor1")["token"] == "theirs"
    result = avadm("apply", "base", "--break-lock")
    assert result.exit_code == 0, result.output
    assert "Broke the lock of `avadm apply`" in result.output
    assert "desk7" in (tmp_path / "runs/latest/log.txt").read_text()


def test_a_dead_run_of_this_controller_is_taken_over_and_reported(avadm, nodes):
    plant(nodes, MONS, pid=2**22 + 7)
    result = avadm("apply", "base")
    assert result.exit_code == 0, result.output
    assert "stale lock of an interrupted run" in result.output


def test_a_pid_that_was_used_again_is_dead_and_a_living_one_is_not(avadm, nodes):
    plant(nodes, MONS, started=1)
    assert avadm("apply", "base").exit_code == 0
    plant(nodes, MONS, started=started(os.getpid()), machine=machine())
    assert refusal(avadm("apply", "base")).check == "cluster-locked"


def test_a_majority_is_enough_and_needed(avadm, nodes, playbooks):
    nodes.silent.add("stor1")
    assert avadm("apply", "base").exit_code == 0
    nodes.silent.add("stor2")
    report, *silent = refusals(avadm("apply", "base"))
    assert report.check == "no-lock-majority"
    assert "1 of 3: stor3" in report.found
    assert {(f.host, f.what) for f in silent} == {("stor1", "no route"), ("stor2", "no route")}
    assert playbooks.requests == []
    assert not lock(nodes, "stor3").exists()


def test_a_lock_on_a_minority_stops_no_one_and_stays(avadm, nodes):
    plant(nodes, ("stor2",), machine="elsewhere")
    assert avadm("apply", "base").exit_code == 0
    assert noted(nodes, "stor2")["token"] == "theirs"


def test_a_torn_lock_is_refused_and_can_be_broken(avadm, nodes):
    plant(nodes, MONS)
    for node in MONS:
        lock(nodes, node).write_text("")
    assert refusal(avadm("apply", "base")).check == "cluster-locked"
    assert avadm("apply", "base", "--break-lock").exit_code == 0


@pytest.mark.parametrize("reached", [MONS, MONS[1:]], ids=["all nodes", "a majority: one still names us"])
def test_a_user_whose_lock_is_broken_is_informed(nodes, tmp_path, monkeypatch, reached):
    monkeypatch.setattr("avadm.state.lock.site.HEARTBEAT_S", 0.02)
    (tmp_path / "site.yml").write_text(SITE)
    mine, lost, report = LockNodes(load(tmp_path / "site.yml"), nodes), threading.Event(), []
    with lock_nodes(mine, "apply", report.append, lost=lost.set):
        assert not lost.wait(0.2)
        plant(nodes, reached, machine="elsewhere", host="desk7")
        assert lost.wait(5)
    assert "desk7" in report[-1]
    assert noted(nodes, "stor2")["token"] == "theirs"


def test_a_dry_run_leaves_no_trace_on_the_nodes(avadm, nodes):
    assert avadm("apply", "--dry-run").exit_code == 0
    assert nodes.commands == []


def test_a_lost_state_comes_back_from_the_nodes(avadm, nodes, playbooks, tmp_path, state_file):
    avadm("apply")
    assert copy_of(nodes, "stor2").stat().st_mode & 0o777 == 0o600
    before = json.loads(state_file.read_text())["phases"]
    shutil.rmtree(tmp_path / ".avadm")
    for look in (("status",), ("plan",)):
        assert "is missing; this is the copy that stor1 keeps" in avadm(*look).output
        assert not (tmp_path / ".avadm").exists(), "who only looks writes nothing beside a run"
    result = avadm("apply", "--resume")
    assert "is missing; took over the copy" in result.output
    assert playbooks.requests == []
    assert json.loads(state_file.read_text())["phases"] == before


def test_a_damaged_state_comes_back_and_without_a_copy_is_reported(avadm, nodes, state_file):
    avadm("apply")
    state_file.write_text("{half")
    assert "is damaged; took over the copy" in avadm("apply", "--resume").output
    state_file.write_text("{half")
    for node in MONS:
        copy_of(nodes, node).unlink()
    assert refusal(avadm("apply", "--resume")).check == "ledger-unreadable"


def test_the_newest_of_several_copies_counts_and_a_broken_one_is_passed_over(
    avadm, nodes, playbooks, tmp_path
):
    avadm("apply", "base")
    nodes.silent.add("stor1")
    avadm("apply")
    nodes.silent.clear()
    shutil.rmtree(tmp_path / ".avadm")
    copy_of(nodes, "stor2").write_text('{"ledger": {"serial": 999}}')
    assert "copy that stor3 keeps" in avadm("apply", "--resume").output
    assert playbooks.requests == []


def test_an_older_copy_is_left_alone(avadm, nodes):
    avadm("apply", "base")
    assert "took over" not in avadm("apply").output


def test_status_names_who_holds_the_lock(avadm, nodes):
    plant(nodes, MONS, machine="elsewhere", host="desk7")
    assert "desk7" in avadm("status").output
    found = json.loads(avadm("status", "--json").stdout)
    assert found["lock"]["holders"][0]["host"] == "desk7"
    nodes.silent.update(MONS)
    assert "No answer from 3 of 3 nodes with the lock" in avadm("status").output


def test_status_calls_no_process_running_that_was_killed(avadm, nodes):
    plant(nodes, MONS, pid=2**22 + 7)
    assert json.loads(avadm("status", "--json").stdout)["lock"]["holders"] == []


@pytest.fixture
def five(tmp_path):
    """A newer version of the site file in a folder of its own: two more monitors, the same vault."""
    folder = tmp_path / "five"
    folder.mkdir()
    more = "".join(f"  - {{name: stor{n}, address: 10.9.0.1{n}, roles: [mon]}}\n" for n in (4, 5))
    (folder / "site.yml").write_text(SITE + more)
    return folder / "site.yml"


def vault_to(site):
    for kept in site.parent.parent.glob("site.vault*"):
        shutil.copy(kept, site.parent)


def test_monitors_of_two_versions_of_a_site_file_are_no_two_majorities(avadm, nodes, five):
    assert avadm("apply", "base").exit_code == 0
    vault_to(five)
    plant(nodes, ("stor1", "stor2"), machine="elsewhere", host="desk7")
    report = refusal(avadm("apply", "base", site=five))
    assert report.check == "cluster-locked"
    assert "desk7" in report.found
    assert not lock(nodes, "stor4").exists()
    # The other way round: anyone who has the older file cannot ask the newer nodes, so that they count as silent.
    for node in ("stor1", "stor2"):
        lock(nodes, node).unlink()
    assert avadm("apply", "base", site=five).exit_code == 0
    plant(nodes, ("stor3", "stor4", "stor5"), machine="elsewhere")
    report = refusal(avadm("apply", "base"))
    assert report.check == "cluster-locked"
    lock(nodes, "stor3").unlink()
    nodes.silent.add("stor3")
    report = refusal(avadm("apply", "base"))
    assert report.check == "no-lock-majority"
    assert "stor4, stor5 kept it" in report.remedy
    result = avadm("apply", "base", "--break-lock")
    assert result.exit_code == 0
    assert "Did without stor4, stor5" in result.output


def test_a_take_that_is_heard_of_too_late_leaves_no_lock(avadm, nodes, monkeypatch):
    late = []
    run = nodes.run

    def slow(node, command, *, timeout=60.0, stdin=None):
        result = run(node, command, timeout=timeout, stdin=stdin)
        if b'\\"take\\"' not in (stdin or b"") or node == "stor3":
            return result
        if node == "stor2":  # it comes to the node only after the run has gone
            lock(nodes, node).unlink()
            late.append((node, command, stdin or b""))
        return replace(result, rc=124, stdout="", error="no answer within 30 s")

    monkeypatch.setattr(nodes, "run", slow)
    assert refusal(avadm("apply", "base")).check == "no-lock-majority"
    assert taken(nodes) == []
    for node, command, stdin in late:
        with pytest.raises(OSError, match="given the lock up"):
            run(node, command, stdin=stdin)
    assert not lock(nodes, "stor2").exists()


def test_of_two_breakers_none_removes_what_the_other_took(nodes, tmp_path, monkeypatch):
    """Between a breaker's look and its removal the other one must not get in."""
    plant(nodes, ("stor1",))
    folder = str(lock(nodes, "stor1").parent)
    take = {"folder": folder, "verb": "take", "token": "theirs"}
    won = []
    holder = node_lock.Store.holder
    looked = threading.Barrier(2, timeout=0.5)

    def slow(store):
        found = holder(store)
        with suppress(threading.BrokenBarrierError):
            looked.wait()
        return found

    monkeypatch.setattr(node_lock.Store, "holder", slow)

    def breaker(name):
        if node_lock.do({**take, "owner": {"token": name}})["done"]:
            won.append(name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(breaker, ("one", "two")))
    assert len(won) == 1
    assert noted(nodes, "stor1")["token"] == won[0]


@pytest.mark.parametrize("wrong", [OSError("no /proc"), None])
def test_a_controller_in_another_pid_namespace_is_alive(avadm, nodes, monkeypatch, wrong):
    plant(nodes, MONS, pid=2**22 + 7)
    readlink = Path.readlink

    def other(path):
        if str(path) == "/proc/self/ns/pid":
            if wrong:
                raise wrong
            return Path("pid:[1]")
        return readlink(path)

    monkeypatch.setattr(Path, "readlink", other)
    assert refusal(avadm("apply", "base")).check == "cluster-locked"


def forged(kept, state_file=None, **more):
    data = json.loads(kept.read_text())
    changed = {**data["ledger"], "serial": 999, **(state_file or {})}
    kept.write_text(json.dumps({**data, "ledger": changed, **more}))


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (forged, "its signature is not by this vault's key"),
        (lambda kept: forged(kept, state_file={"site": "other"}), "it is of the site 'other'"),
        (lambda kept: forged(kept, signature=None), "signed"),
    ],
)
def test_a_copy_that_another_wrote_is_not_believed_and_reported(
    avadm, nodes, playbooks, state_file, forge, why
):
    avadm("apply", "base")
    for node in MONS:
        forge(copy_of(nodes, node))
    state_file.unlink()
    text = " ".join(avadm("status").output.split())
    assert "The copy of the state on stor1, stor2, stor3 is not used" in text
    result = avadm("apply", "base", "--resume")
    assert why in " ".join(result.output.split())
    assert playbooks.phases == ["base"], "what cannot be checked is done again"
    assert json.loads(state_file.read_text())["serial"] < 999
