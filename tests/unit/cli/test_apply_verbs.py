"""plan, apply, status and runs through the command line, with a fake in the place of Ansible."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from avadm.cli import apply as command
from avadm.cli import execute as verb
from avadm.cli.main import App, cli
from avadm.engine.lock import locked
from avadm.errors import AvadmError
from avadm.records.ledger import Ledger, State
from avadm.runner.ansible import Outcome, PlaybookRun
from avadm.runner.events import Event, Kind
from tests.unit.cli.nodes import Nodes

SITE = """
version: 1
name: t
profile: lab-bookworm
network: {management: 10.9.0.0/24, domain: example.test}
nodes:
  - {name: stor1, address: 10.9.0.11, roles: [mon, mgr, osd, mds], devices: [{serial: A1}]}
  - {name: stor2, address: 10.9.0.12, roles: [mon, osd], devices: [{serial: A2}]}
  - {name: stor3, address: 10.9.0.13, roles: [mon, osd], devices: [{serial: A3}]}
  - {name: comp1, address: 10.9.0.21, roles: [client, prometheus, alertmanager]}
  - {name: comp2, address: 10.9.0.22, roles: [client, prometheus, alertmanager]}
"""


class Fake:
    """Plays playbooks: every host is ok but those in ``script``: (phase, host) to a kind and a message."""

    def __init__(self) -> None:
        self.requests: list[PlaybookRun] = []
        self.script: dict[tuple[str, str], tuple[Kind, str]] = {}
        self.secrets: list[str] = []

    def run(
        self, request: PlaybookRun, on_event: Callable[[Event], None], canceled: Callable[[], bool]
    ) -> Outcome:
        self.requests.append(request)
        stats = {}
        rc = 0
        on_event(Event(time.time(), request.phase, Kind.TASK_START, task="role : Work"))
        for host in request.limit:
            kind, message = self.script.get((request.phase, host), (Kind.OK, ""))
            task = {"host": host, "task": "role : Work", "seconds": 0.5, "message": message}
            on_event(Event(time.time(), request.phase, Kind.HOST_START, host=host, task="role : Work"))
            on_event(Event(time.time(), request.phase, kind, **task))  # type: ignore[arg-type]
            stats[host] = {"ok": 1, "changed": 0, kind.value: 1}
            rc = {Kind.FAILED: 2, Kind.UNREACHABLE: max(rc, 4)}.get(kind, rc)
        on_event(Event(time.time(), request.phase, Kind.STATS, stats=stats))
        return Outcome(rc)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fake:
    runner = Fake()
    (tmp_path / "site.yml").write_text(SITE)
    monkeypatch.setenv("AVADM_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(verb, "make_runner", lambda redactor: runner)
    monkeypatch.setattr(verb, "versions_hook", lambda site_file, fleet: None)
    nodes = Nodes(tmp_path / "nodes")
    monkeypatch.setattr(App, "idle_fleet", lambda self: nodes)
    monkeypatch.setattr(App, "fleet", App.idle_fleet)
    return runner


@pytest.fixture
def avadm(tmp_path: Path, fake: Fake) -> Callable[..., Result]:
    return lambda *argv: CliRunner().invoke(cli, ["--site", str(tmp_path / "site.yml"), *argv])


def data(result: Result) -> Any:
    return json.loads(result.stdout)


def test_plan_shows_phases_order_and_what_runs_at_once(avadm: Callable[..., Result]) -> None:
    found = data(avadm("plan", "--json"))
    assert found["waves"] == [["base"], ["ceph", "monitoring"], ["cephfs", "rbd"]]
    assert found["phases"][1]["hosts"] == ["stor1", "stor2", "stor3"]
    text = avadm("plan", "--limit", "osd").output
    assert "storage cluster" in text
    assert "Nothing was changed" in text
    assert "site.yml apply --limit osd\n" in text


def test_apply_hands_each_playbook_its_limit_inventory_and_vault(
    avadm: Callable[..., Result], fake: Fake, tmp_path: Path
) -> None:
    result = avadm("apply", "--quiet")
    assert result.exit_code == 0, result.output
    by_phase = {r.phase: r for r in fake.requests}
    ceph = by_phase["ceph"]
    assert ceph.playbook.name == "ceph.yml"
    assert ceph.limit == ("stor1", "stor2", "stor3")
    assert ceph.vault == tmp_path / "site.vault.yml"
    assert ceph.vault_password == tmp_path / "site.vault-pass"
    assert (ceph.inventory / "hosts.yml").is_file()
    assert "Nothing changed" in result.output


def test_a_run_folder_holds_all_and_no_secret(avadm: Callable[..., Result], tmp_path: Path) -> None:
    from avadm.sitefile.secrets import Vault

    assert avadm("apply", "-q").exit_code == 0
    folder = (tmp_path / "runs" / "latest").resolve()
    names = {p.name for p in folder.iterdir()}
    assert names == {"events.jsonl", "log.txt", "ledger.json", "summary.json", "inventory", "plan.json"}
    secrets = Vault.open(tmp_path / "site.yml").values()
    assert secrets
    everything = "".join(p.read_text() for p in folder.rglob("*") if p.is_file())
    assert not [s for s in secrets if s in everything]
    assert json.loads((folder / "summary.json").read_text())["hosts"]["stor1"]["ok"] > 0


def test_apply_of_one_phase_pulls_in_what_is_not_done_and_only_that(
    avadm: Callable[..., Result], fake: Fake
) -> None:
    avadm("apply", "rbd", "-q")
    assert [r.phase for r in fake.requests] == ["base", "ceph", "rbd"]
    fake.requests.clear()
    avadm("apply", "rbd", "-q")
    assert [r.phase for r in fake.requests] == ["rbd"]


def test_resume_leaves_out_what_is_done_with_the_same_inputs(
    avadm: Callable[..., Result], fake: Fake, tmp_path: Path
) -> None:
    avadm("apply", "-q")
    assert "Nothing to do" in avadm("apply", "--resume").output
    site = tmp_path / "site.yml"
    site.write_text(SITE + "components: {monitoring: {retention_days: 3}}\n")
    fake.requests.clear()
    avadm("apply", "--resume", "-q")
    assert [r.phase for r in fake.requests] == ["monitoring"]


def test_a_failed_task_ends_with_host_task_error_remedy_log_and_command(
    avadm: Callable[..., Result], fake: Fake
) -> None:
    fake.script["ceph", "stor2"] = (Kind.FAILED, "/dev/sdb is not blank: it holds ext4")
    result = avadm("apply")
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    end = result.output[result.output.index("✗ ceph on stor2: role : Work") :]
    assert "/dev/sdb is not blank: it holds ext4" in end
    assert "disk was refused to protect data" in end
    assert "log.txt" in end
    assert "apply" in end.splitlines()[-1]
    assert "waiting on ceph" in result.output


def test_a_dead_node_is_named_and_the_others_go_on(avadm: Callable[..., Result], fake: Fake) -> None:
    fake.script["base", "comp1"] = (Kind.UNREACHABLE, "No route to host")
    result = avadm("apply", "-q")
    assert result.exit_code == 1
    assert "Not reached, nothing was done there: comp1" in result.output
    assert all("comp1" not in r.limit for r in fake.requests if r.phase != "base")
    assert {r.phase for r in fake.requests} == {"base", "ceph", "cephfs", "rbd", "monitoring"}


def test_apply_json_is_the_summary_and_nothing_else(avadm: Callable[..., Result]) -> None:
    found = data(avadm("apply", "--json"))
    assert found["result"] == "good"
    assert {p["name"] for p in found["phases"]} >= {"base", "ceph"}


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["apply", "cefp"], "Did you mean 'ceph"),
        (["apply", "--limit", "stor9"], "--limit matches no node"),
        (["apply", "ceph", "--limit", "comp1"], "No node takes part"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_made(
    avadm: Callable[..., Result], tmp_path: Path, argv: list[str], word: str
) -> None:
    result = avadm(*argv)
    assert isinstance(result.exception, AvadmError)
    assert word in result.exception.findings[0].what
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("verb", ["plan", "apply"])
@pytest.mark.parametrize("limit", ["", " , "])
def test_an_empty_limit_is_refused_and_never_means_all(
    avadm: Callable[..., Result], fake: Fake, verb: str, limit: str
) -> None:
    result = avadm(verb, "--limit", limit)
    assert result.exit_code == 2
    assert "names no node" in result.output
    assert not fake.requests


def test_a_limit_takes_names_patterns_and_roles(avadm: Callable[..., Result], fake: Fake) -> None:
    avadm("apply", "base", "-q", "--limit", "stor[12]", "--limit", "prometheus")
    assert fake.requests[0].limit == ("stor1", "stor2", "comp1", "comp2")


def test_resume_with_nothing_to_do_prints_a_summary_as_json(avadm: Callable[..., Result]) -> None:
    avadm("apply", "-q")
    found = data(avadm("apply", "--resume", "--json"))
    assert (found["result"], found["phases"], found["changed"]) == ("good", [], 0)


def test_the_plan_is_made_from_the_ledger_as_it_is_once_the_lock_is_held(
    avadm: Callable[..., Result], fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def last_word(folder: Path, name: str) -> Iterator[None]:
        # The run before writes its last word while this one waits for the lock.
        ledger = Ledger(folder / "ledger.json", "t")
        ledger.finish("base", dict.fromkeys(["stor1", "stor2", "stor3", "comp1", "comp2"], State.DONE))
        with locked(folder, name):
            yield

    monkeypatch.setattr(command, "locked", last_word)
    avadm("apply", "monitoring", "-q")
    assert [r.phase for r in fake.requests] == ["monitoring"]
    assert Ledger(tmp_path / ".avadm/t/ledger.json", "t").done("base", ["stor1"])


def test_a_run_that_could_not_start_leaves_nothing_behind(
    avadm: Callable[..., Result], tmp_path: Path
) -> None:
    avadm("apply", "base", "-q")
    (tmp_path / "site.vault-pass").write_text("wrong\n")
    assert isinstance(avadm("apply", "-q").exception, AvadmError)
    (row,) = data(avadm("runs", "list", "--json"))
    assert row["result"] == "good"
    assert (tmp_path / "runs" / "latest").readlink() == Path(row["id"])


def test_a_dry_run_goes_on_as_a_dry_run(avadm: Callable[..., Result], fake: Fake) -> None:
    fake.script["base", "stor2"] = (Kind.FAILED, "x")
    assert avadm("apply", "base", "--check").output.splitlines()[-1].endswith(" apply base --check")


def test_the_remedy_of_several_nodes_names_all_after_limit(avadm: Callable[..., Result], fake: Fake) -> None:
    for node in ("stor1", "stor2"):
        fake.script["base", node] = (Kind.UNREACHABLE, "Host key verification failed.")
    text = avadm("apply", "base").output
    assert "The host key of stor1 is not the pinned one" in text
    assert "avadm bootstrap --limit stor1,stor2`" in text


def test_a_second_apply_at_once_is_refused(avadm: Callable[..., Result], tmp_path: Path) -> None:
    with locked(tmp_path / ".avadm" / "t", "apply"):
        result = avadm("apply")
    assert isinstance(result.exception, AvadmError)
    assert result.exception.findings[0].check == "site-locked"


def test_ctrl_c_prints_the_summary_and_exits_2(
    avadm: Callable[..., Result], fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("avadm.engine.apply.Engine.run", interrupted)
    result = avadm("apply")
    assert result.exit_code == 2
    assert "no playbook runs any more" in result.output
    assert data(avadm("runs", "list", "--json"))[-1]["result"] == "canceled"


def test_status_goes_from_pending_to_done_to_stale(avadm: Callable[..., Result], tmp_path: Path) -> None:
    def states() -> dict[str, str]:
        return {p["name"]: p["state"] for p in data(avadm("status", "--json"))["phases"]}

    assert set(states().values()) == {"pending"}
    assert "Nothing is installed yet" in avadm("status").output
    avadm("apply", "-q")
    assert set(states().values()) == {"done"}
    assert data(avadm("status", "--json"))["phases"][1]["hosts"] == {"total": 3, "done": 3, "failed": 0}
    (tmp_path / "site.yml").write_text(SITE + "components: {monitoring: {retention_days: 3}}\n")
    assert {n for n, s in states().items() if s == "stale"} == {"monitoring"}
    assert f"`avadm --site {tmp_path}/site.yml apply monitoring`" in avadm("status").output


def test_status_tells_what_failed_where(avadm: Callable[..., Result], fake: Fake) -> None:
    fake.script["rbd", "comp2"] = (Kind.FAILED, "x")
    avadm("apply", "-q")
    (rbd,) = [p for p in data(avadm("status", "--json"))["phases"] if p["name"] == "rbd"]
    assert (rbd["state"], rbd["failed_hosts"]) == ("failed", ["comp2"])
    assert "site.yml apply rbd`" in avadm("status").output


def test_runs_are_listed_and_shown(avadm: Callable[..., Result], fake: Fake) -> None:
    assert "no run yet" in avadm("runs", "list").output
    avadm("apply", "base", "-q")
    (row,) = data(avadm("runs", "list", "--json"))
    assert (row["verb"], row["phases"], row["result"]) == ("apply", ["base"], "good")
    shown = avadm("runs", "show").output
    assert "Slowest tasks" in shown
    assert row["id"] in avadm("runs", "show", row["id"]).output


def test_a_killed_run_is_shown_from_its_events(avadm: Callable[..., Result], tmp_path: Path) -> None:
    avadm("apply", "base", "-q")
    (tmp_path / "runs" / "latest" / "summary.json").unlink()
    assert data(avadm("runs", "list", "--json"))[0]["result"] == "unfinished"
    result = avadm("runs", "show")
    assert result.exit_code == 0, result.output
    assert "base" in result.output
