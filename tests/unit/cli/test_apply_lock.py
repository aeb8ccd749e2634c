"""Two controllers, dead runs, broken locks, and copies of the ledger, on nodes that are folders."""

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from avadm.cli import execute as verb
from avadm.cli.main import App, cli
from avadm.engine.cluster_lock import held
from avadm.engine.controller import machine, owner, started
from avadm.engine.lock_nodes import LockNodes
from avadm.errors import AvadmError
from avadm.sitefile.load import load
from tests.unit.cli.nodes import Nodes
from tests.unit.cli.test_apply_verbs import SITE, Fake

MONS = ("stor1", "stor2", "stor3")
Run = Callable[..., Result]


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nodes:
    made = Nodes(tmp_path / "nodes")
    monkeypatch.setattr(App, "idle_fleet", lambda self: made)
    monkeypatch.setattr(App, "fleet", App.idle_fleet)
    return made


@pytest.fixture
def playbooks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fake:
    runner = Fake()
    (tmp_path / "site.yml").write_text(SITE)
    monkeypatch.setenv("AVADM_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(verb, "make_runner", lambda redactor: runner)
    monkeypatch.setattr(verb, "versions_hook", lambda site_file, fleet: None)
    return runner


@pytest.fixture
def avadm(tmp_path: Path, nodes: Nodes, playbooks: Fake) -> Run:
    def run(*argv: str, site: Path = tmp_path / "site.yml") -> Result:
        playbooks.requests.clear()
        return CliRunner().invoke(cli, ["--site", str(site), *argv])

    return run


def lock(nodes: Nodes, node: str) -> Path:
    return nodes.path(node, "/var/lib/avadm/t/lock")


def plant(nodes: Nodes, where: tuple[str, ...], **said: Any) -> None:
    for node in where:
        lock(nodes, node).parent.mkdir(parents=True, exist_ok=True)
        half = lock(nodes, node).with_name("half")
        half.write_text(json.dumps({**owner("apply"), "token": "theirs", **said}))
        half.replace(lock(nodes, node))


def refusal(result: Result) -> Any:
    assert isinstance(result.exception, AvadmError), result.output
    return result.exception.findings[0]


def test_the_lock_is_there_while_a_run_is_at_work_and_gone_afterwards(
    avadm: Run, nodes: Nodes, playbooks: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    run = playbooks.run

    def look(*args: Any) -> Any:
        seen.append({n: json.loads(lock(nodes, n).read_text()) for n in MONS})
        assert {lock(nodes, n).stat().st_mode & 0o777 for n in MONS} == {0o600}
        return run(*args)

    monkeypatch.setattr(playbooks, "run", look)
    assert avadm("apply", "base").exit_code == 0
    assert {o["verb"] for o in seen[0].values()} == {"apply"}
    assert {o["pid"] for o in seen[0].values()} == {os.getpid()}
    assert not any(lock(nodes, n).exists() for n in MONS)
    assert [p.name for p in lock(nodes, "stor1").parent.iterdir()] == ["state.json"]


def test_a_second_controller_is_refused_with_who_since_and_heartbeat(
    avadm: Run, nodes: Nodes, playbooks: Fake, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(tmp_path / "site.yml", other / "site.yml")
    (other / "site.yml").write_text(SITE + "ssh: {key: other_key}\n")
    first = LockNodes(load(tmp_path / "site.yml"), nodes)
    with held(first, "apply", print):
        told = refusal(avadm("apply", site=other / "site.yml"))
    assert told.check == "cluster-locked"
    for word in ("`avadm apply`", f"process {os.getpid()}", "since 20"):
        assert word in told.found
    assert re.search(r"last heartbeat \d+ s ago", told.found)
    assert playbooks.requests == []
    assert avadm("apply", "base", site=other / "site.yml").exit_code == 0


def test_a_lock_of_another_machine_stays_until_it_is_broken_by_name(
    avadm: Run, nodes: Nodes, tmp_path: Path
) -> None:
    plant(nodes, MONS, machine="elsewhere", host="desk7", user="eve")
    old = lock(nodes, "stor1").stat().st_mtime - 3600
    for node in MONS:
        os.utime(lock(nodes, node), (old, old))
    told = refusal(avadm("apply", "base"))
    assert "desk7, user eve" in told.found
    assert "last heartbeat 3600 s ago" in told.found
    assert json.loads(lock(nodes, "stor1").read_text())["token"] == "theirs"
    result = avadm("apply", "base", "--break-lock")
    assert result.exit_code == 0, result.output
    assert "Broke the lock of `avadm apply`" in result.output
    assert "desk7" in (tmp_path / "runs/latest/log.txt").read_text()


def test_a_dead_run_of_this_controller_is_taken_over_and_told(avadm: Run, nodes: Nodes) -> None:
    plant(nodes, MONS, pid=2**22 + 7)
    result = avadm("apply", "base")
    assert result.exit_code == 0, result.output
    assert "dead run of this controller" in result.output


def test_a_pid_that_was_used_again_is_dead_and_a_living_one_is_not(avadm: Run, nodes: Nodes) -> None:
    plant(nodes, MONS, started=1)
    assert avadm("apply", "base").exit_code == 0
    plant(nodes, MONS, started=started(os.getpid()), machine=machine())
    assert refusal(avadm("apply", "base")).check == "cluster-locked"


def test_a_majority_is_enough_and_needed(avadm: Run, nodes: Nodes, playbooks: Fake) -> None:
    nodes.silent.add("stor1")
    assert avadm("apply", "base").exit_code == 0
    nodes.silent.add("stor2")
    result = avadm("apply", "base")
    assert isinstance(result.exception, AvadmError)
    told, *silent = result.exception.findings
    assert told.check == "no-lock-majority"
    assert "1 of 3: stor3" in told.found
    assert {(f.host, f.what) for f in silent} == {("stor1", "no route"), ("stor2", "no route")}
    assert playbooks.requests == []
    assert not lock(nodes, "stor3").exists()


def test_a_lock_on_a_minority_stops_nobody_and_stays(avadm: Run, nodes: Nodes) -> None:
    plant(nodes, ("stor2",), machine="elsewhere")
    assert avadm("apply", "base").exit_code == 0
    assert json.loads(lock(nodes, "stor2").read_text())["token"] == "theirs"


def test_a_torn_lock_is_refused_and_can_be_broken(avadm: Run, nodes: Nodes) -> None:
    plant(nodes, MONS)
    for node in MONS:
        lock(nodes, node).write_text("")
    assert refusal(avadm("apply", "base")).check == "cluster-locked"
    assert avadm("apply", "base", "--break-lock").exit_code == 0


def test_ctrl_c_gives_the_lock_back(avadm: Run, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("avadm.engine.apply.Engine.run", interrupted)
    assert avadm("apply").exit_code == 2
    assert not any(lock(nodes, n).exists() for n in MONS)


@pytest.mark.parametrize("reached", [MONS, MONS[1:]], ids=["all nodes", "a majority: one still names us"])
def test_whoever_is_broken_hears_of_it(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reached: tuple[str, ...]
) -> None:
    import threading

    monkeypatch.setattr("avadm.engine.cluster_lock.HEARTBEAT_S", 0.02)
    (tmp_path / "site.yml").write_text(SITE)
    mine, lost, told = LockNodes(load(tmp_path / "site.yml"), nodes), threading.Event(), []
    with held(mine, "apply", told.append, lost=lost.set):
        assert not lost.wait(0.2)
        plant(nodes, reached, machine="elsewhere", host="desk7")
        assert lost.wait(5)
    assert "desk7" in told[-1]
    assert json.loads(lock(nodes, "stor2").read_text())["token"] == "theirs"


def test_a_dry_run_leaves_no_trace_on_the_nodes(avadm: Run, nodes: Nodes) -> None:
    assert avadm("apply", "--check").exit_code == 0
    assert nodes.commands == []


def test_a_lost_ledger_comes_back_from_the_nodes(
    avadm: Run, nodes: Nodes, playbooks: Fake, tmp_path: Path
) -> None:
    avadm("apply")
    kept = nodes.path("stor2", "/var/lib/avadm/t/state.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    before = json.loads((tmp_path / ".avadm/t/ledger.json").read_text())["phases"]
    shutil.rmtree(tmp_path / ".avadm")
    for look in (("status",), ("plan",)):
        assert "is missing; this is the copy that stor1 keeps" in avadm(*look).output
        assert not (tmp_path / ".avadm").exists(), "who only looks writes nothing beside a run"
    result = avadm("apply", "--resume")
    assert "is missing; took over the copy" in result.output
    assert playbooks.requests == []
    assert json.loads((tmp_path / ".avadm/t/ledger.json").read_text())["phases"] == before


def test_a_damaged_ledger_comes_back_and_without_a_copy_is_told(
    avadm: Run, nodes: Nodes, tmp_path: Path
) -> None:
    avadm("apply")
    ledger = tmp_path / ".avadm/t/ledger.json"
    ledger.write_text("{half")
    assert "is damaged; took over the copy" in avadm("apply", "--resume").output
    ledger.write_text("{half")
    for node in MONS:
        nodes.path(node, "/var/lib/avadm/t/state.json").unlink()
    assert refusal(avadm("apply", "--resume")).check == "ledger-unreadable"


def test_the_newest_of_several_copies_counts_and_a_broken_one_is_passed_over(
    avadm: Run, nodes: Nodes, playbooks: Fake, tmp_path: Path
) -> None:
    avadm("apply", "base")
    nodes.silent.add("stor1")
    avadm("apply")
    nodes.silent.clear()
    shutil.rmtree(tmp_path / ".avadm")
    nodes.path("stor2", "/var/lib/avadm/t/state.json").write_text('{"ledger": {"serial": 999}}')
    assert "copy that stor3 keeps" in avadm("apply", "--resume").output
    assert playbooks.requests == []


def test_an_older_copy_is_left_alone(avadm: Run, nodes: Nodes) -> None:
    avadm("apply", "base")
    assert "took over" not in avadm("apply").output


def test_status_names_who_holds_the_lock(avadm: Run, nodes: Nodes) -> None:
    plant(nodes, MONS, machine="elsewhere", host="desk7")
    assert "desk7" in avadm("status").output
    found = json.loads(avadm("status", "--json").stdout)
    assert found["lock"]["holders"][0]["host"] == "desk7"
    nodes.silent.update(MONS)
    assert "do not answer" in avadm("status").output


@pytest.fixture
def five(tmp_path: Path) -> Path:
    """A newer version of the site file in a folder of its own: two more monitors, the same vault."""
    folder = tmp_path / "five"
    folder.mkdir()
    more = "".join(f"  - {{name: stor{n}, address: 10.9.0.1{n}, roles: [mon]}}\n" for n in (4, 5))
    (folder / "site.yml").write_text(SITE + more)
    return folder / "site.yml"


def vault_to(site: Path) -> None:
    for kept in site.parent.parent.glob("site.vault*"):
        shutil.copy(kept, site.parent)


def test_monitors_of_two_versions_of_a_site_file_are_no_two_majorities(
    avadm: Run, nodes: Nodes, five: Path
) -> None:
    assert avadm("apply", "base").exit_code == 0
    vault_to(five)
    plant(nodes, ("stor1", "stor2"), machine="elsewhere", host="desk7")
    told = refusal(avadm("apply", "base", site=five))
    assert told.check == "cluster-locked"
    assert "desk7" in told.found
    assert not lock(nodes, "stor4").exists()
    # The other way round: whoever has the older file cannot ask the newer nodes, so that they count as silent.
    for node in ("stor1", "stor2"):
        lock(nodes, node).unlink()
    assert avadm("apply", "base", site=five).exit_code == 0
    plant(nodes, ("stor3", "stor4", "stor5"), machine="elsewhere")
    told = refusal(avadm("apply", "base"))
    assert told.check == "cluster-locked"
    lock(nodes, "stor3").unlink()
    nodes.silent.add("stor3")
    told = refusal(avadm("apply", "base"))
    assert told.check == "no-lock-majority"
    assert "stor4, stor5 kept it" in told.remedy
    result = avadm("apply", "base", "--break-lock")
    assert result.exit_code == 0
    assert "Did without stor4, stor5" in result.output


def test_a_take_that_is_heard_of_too_late_leaves_no_lock(
    avadm: Run, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[tuple[str, str, bytes]] = []
    run = nodes.run

    def slow(node: str, command: str, *, timeout: float = 60.0, stdin: bytes | None = None) -> Any:
        result = run(node, command, timeout=timeout, stdin=stdin)
        if b'\\"take\\"' not in (stdin or b"") or node == "stor3":
            return result
        if node == "stor2":  # it comes to the node only after the run has gone
            lock(nodes, node).unlink()
            late.append((node, command, stdin or b""))
        return replace(result, rc=124, stdout="", error="no answer within 30 s")

    monkeypatch.setattr(nodes, "run", slow)
    assert refusal(avadm("apply", "base")).check == "no-lock-majority"
    assert not any(lock(nodes, n).exists() for n in MONS)
    for node, command, stdin in late:
        with pytest.raises(OSError, match="given the lock up"):
            run(node, command, stdin=stdin)
    assert not lock(nodes, "stor2").exists()


def test_of_two_breakers_none_removes_what_the_other_took(nodes: Nodes, tmp_path: Path) -> None:
    """Between a breaker's look and its removal the other one must not get in."""
    import threading

    script: dict[str, Any] = {}
    exec((files("avadm.engine") / "lock_probe.py").read_text(), script)  # noqa: S102 - our own script
    plant(nodes, ("stor1",))
    folder = str(lock(nodes, "stor1").parent)
    take = {"folder": folder, "verb": "take", "token": "theirs"}
    won: list[str] = []
    holder = script["Store"].holder
    looked = threading.Barrier(2, timeout=0.5)

    def slow(store: Any) -> Any:
        found = holder(store)
        with suppress(threading.BrokenBarrierError):
            looked.wait()
        return found

    script["Store"].holder = slow

    def breaker(name: str) -> None:
        if script["main"]({**take, "owner": {"token": name}})["done"]:
            won.append(name)

    threads = [threading.Thread(target=breaker, args=(n,)) for n in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert json.loads(lock(nodes, "stor1").read_text())["token"] == won[0]


@pytest.mark.parametrize("wrong", [OSError("no /proc"), None])
def test_a_controller_in_another_pid_namespace_is_alive(
    avadm: Run, nodes: Nodes, monkeypatch: pytest.MonkeyPatch, wrong: OSError | None
) -> None:
    plant(nodes, MONS, pid=2**22 + 7)
    readlink = Path.readlink

    def other(path: Path) -> Path:
        if str(path) == "/proc/self/ns/pid":
            if wrong:
                raise wrong
            return Path("pid:[1]")
        return readlink(path)

    monkeypatch.setattr(Path, "readlink", other)
    assert refusal(avadm("apply", "base")).check == "cluster-locked"


def forged(kept: Path, **ledger: object) -> None:
    data = json.loads(kept.read_text())
    data["ledger"] |= {"serial": 999, **ledger}
    kept.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (forged, "its signature is not by this vault's key"),
        (lambda kept: forged(kept, site="other"), "it is of the site 'other'"),
        (
            lambda kept: kept.write_text(json.dumps({**json.loads(kept.read_text()), "signature": None})),
            "signed",
        ),
    ],
)
def test_a_copy_that_another_wrote_is_not_believed_and_told(
    avadm: Run, nodes: Nodes, playbooks: Fake, tmp_path: Path, forge: Callable[[Path], None], why: str
) -> None:
    avadm("apply", "base")
    for node in MONS:
        forge(nodes.path(node, "/var/lib/avadm/t/state.json"))
    (tmp_path / ".avadm/t/ledger.json").unlink()
    told = " ".join(avadm("status").output.split())
    assert "The copy of the ledger on stor1, stor2, stor3 is not used" in told
    result = avadm("apply", "base", "--resume")
    assert why in " ".join(result.output.split())
    assert [r.phase for r in playbooks.requests] == ["base"], "what nobody proves is done again"
    assert json.loads((tmp_path / ".avadm/t/ledger.json").read_text())["serial"] < 999
