"""A second apply proves instead of repeating, and runs exactly what drifted; the nodes are a dictionary."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from avadm.cli import execute as verb
from avadm.cli.main import App, cli
from avadm.records.ledger import Ledger, State
from avadm.runner import fleet
from avadm.runner.ansible import Outcome, PlaybookRun
from avadm.runner.events import Event, Kind
from tests.unit.cli.nodes import Nodes
from tests.unit.cli.test_apply_verbs import SITE

KEPT = {
    "base": ("file /etc/base", "package base"),
    "ceph": ("unit ceph", "health 3", "entity client.a"),
    "cephfs": ("fs cephfs", "pool data"),
    "rbd": ("pool rbd",),
    "monitoring": ("unit prometheus", "restart prometheus /etc/p"),
}
WHOLE = ("health", "entity", "fs", "pool")


class Fake(Nodes):
    """Playbooks that set every value right, on nodes that are a dictionary (host, item) to value."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.requests: list[str] = []
        self.checks: list[bool] = []
        self.asked: list[str] = []
        self.values: dict[tuple[str, str], str] = {}
        self.mends = True
        self.own: dict[str, tuple[str, ...]] = {}
        self.failing: set[str] = set()

    def node(self, host: str, item: str) -> tuple[str, str]:
        return ("" if item.startswith(WHOLE) else host, item)

    def run_playbook(
        self, request: PlaybookRun, on_event: Callable[[Event], None], canceled: Callable[[], bool]
    ) -> Outcome:
        self.requests.append(request.phase)
        self.checks.append(request.check)
        for host in request.limit:
            items = self.own.get(host, KEPT[request.phase])
            if self.mends and not request.check:
                self.values.update({self.node(host, item): "right" for item in items})
            kind = Kind.CHANGED if request.check else Kind.OK
            on_event(
                Event(time.time(), request.phase, kind, host=host, task="r : t", seconds=0.1, manages=items)
            )
        failed = int(request.phase in self.failing)
        on_event(
            Event(
                time.time(),
                request.phase,
                Kind.STATS,
                stats={h: {"ok": 1, "failed": failed} for h in request.limit},
            )
        )
        return Outcome(2 if failed else 0)

    def run(
        self, node: str, command: str, *, timeout: float = 60.0, stdin: bytes | None = None
    ) -> fleet.Result:
        if node in self.silent or stdin is None or b'"items' not in stdin[:200].replace(b"\\", b""):
            return super().run(node, command, timeout=timeout, stdin=stdin)
        self.asked.append(node)
        params = json.loads(json.loads(stdin.decode().splitlines()[0].partition(" = ")[2]))
        said = {item: self.values.get(self.node(node, item), "!absent") for item in params["items"]}
        return fleet.Result(node, command, 0, json.dumps(said), "", 0, 0)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fake:
    made = Fake(tmp_path / "nodes")
    (tmp_path / "site.yml").write_text(SITE)
    monkeypatch.setenv("AVADM_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    runner = type("Runner", (), {"run": staticmethod(made.run_playbook)})
    monkeypatch.setattr(verb, "make_runner", lambda redactor: runner)
    monkeypatch.setattr(verb, "versions_hook", lambda site_file, fleet: None)
    monkeypatch.setattr(App, "idle_fleet", lambda self: made)
    monkeypatch.setattr(App, "fleet", App.idle_fleet)
    return made


Run = Callable[..., Result]


@pytest.fixture
def avadm(tmp_path: Path, fake: Fake) -> Run:
    def run(*argv: str) -> Result:
        fake.requests.clear()
        fake.checks.clear()
        fake.asked.clear()
        return CliRunner().invoke(cli, ["--site", str(tmp_path / "site.yml"), *argv])

    return run


@pytest.fixture
def installed(avadm: Run) -> Run:
    assert avadm("apply").exit_code == 0
    return avadm


def phases(result: Result) -> Mapping[str, Any]:
    return {p["name"]: p for p in json.loads(result.stdout)["phases"]}


def test_a_second_apply_runs_nothing_and_asks_each_node_once(installed: Run, fake: Fake) -> None:
    result = installed("apply")
    assert result.exit_code == 0, result.output
    assert fake.requests == []
    assert sorted(fake.asked) == ["comp1", "comp2", "stor1", "stor2", "stor3"]
    assert "unchanged (proven: 5 files, 5 packages on 5 hosts)" in result.output
    assert "Nothing changed: everything was right already, proven" in result.output
    found = phases(installed("apply", "--json"))
    assert {p["state"] for p in found.values()} == {"unchanged"}
    assert set(found["base"]["hosts"]) == {"stor1", "stor2", "stor3", "comp1", "comp2"}


def test_plan_names_drift_per_host_and_changes_nothing(installed: Run, fake: Fake) -> None:
    fake.values["comp1", "file /etc/base"] = "wrong"
    fake.values["", "pool rbd"] = "size 3"
    text = installed("plan").output
    assert "base: drift on comp1: file /etc/base: right → wrong" in text
    found = phases(installed("plan", "--json"))
    assert {n: p["state"] for n, p in found.items()} == {
        **dict.fromkeys(("base", "rbd"), "drift"),
        **dict.fromkeys(("ceph", "cephfs", "monitoring"), "done"),
    }
    assert found["base"]["hosts_state"]["comp1"] == {
        "state": "drift",
        "reasons": ["file /etc/base: right → wrong"],
    }
    assert found["base"]["hosts_state"]["comp2"] == {"state": "done", "reasons": []}
    assert found["rbd"]["hosts_state"]["cluster"]["state"] == "drift"
    assert found["ceph"]["proven"].startswith("proven: 3 units")
    assert {p["state"] for p in phases(installed("plan", "--offline", "--json")).values()} == {"done"}
    assert fake.requests == fake.asked == []


def test_plan_before_anything_is_installed_asks_no_node_for_values(avadm: Run, fake: Fake) -> None:
    assert {p["state"] for p in phases(avadm("plan", "--json")).values()} == {"pending"}
    assert fake.asked == []


def test_full_runs_everything(installed: Run, fake: Fake) -> None:
    installed("apply", "--full")
    assert sorted(fake.requests) == ["base", "ceph", "cephfs", "monitoring", "rbd"]
    installed("apply")
    assert fake.requests == []


@pytest.mark.parametrize(
    ("host", "item", "found", "phase", "told"),
    [
        ("comp1", "file /etc/base", "wrong", "base", "drift on comp1: file /etc/base: right → wrong"),
        ("stor2", "package base", "2.0", "base", "drift on stor2: package base: right → 2.0"),
        (
            "stor3",
            "unit ceph",
            "!inactive enabled",
            "ceph",
            "drift on stor3: unit ceph: right → inactive enabled",
        ),
        ("", "pool rbd", "size 3", "rbd", "drift on the cluster: pool rbd: right → size 3"),
        ("", "entity client.a", "caps *", "ceph", "drift on the cluster: entity client.a: right → caps *"),
        ("", "health 3", "!HEALTH_WARN", "ceph", "health 3: right → HEALTH_WARN"),
    ],
)
def test_drift_makes_its_phase_run_and_no_other_and_the_next_is_proven(
    installed: Run, fake: Fake, host: str, item: str, found: str, phase: str, told: str
) -> None:
    fake.values[host, item] = found
    result = installed("apply")
    assert fake.requests == [phase]
    assert told in result.output
    installed("apply")
    assert fake.requests == []


def test_what_is_wrong_in_itself_is_never_proven_even_if_it_was_so_before(installed: Run, fake: Fake) -> None:
    fake.values["comp1", "unit prometheus"] = "!inactive"
    fake.mends = False
    for _ in range(2):
        installed("apply")
        assert fake.requests == ["monitoring"]


def test_a_silent_node_is_not_proven(installed: Run, fake: Fake) -> None:
    fake.silent.add("comp2")
    result = installed("apply")
    assert sorted(fake.requests) == ["base", "cephfs", "monitoring", "rbd"]
    assert "unreachable on comp2: it cannot be asked: no route" in result.output


def test_the_cluster_is_asked_of_another_monitor_where_the_first_is_silent(
    installed: Run, fake: Fake
) -> None:
    fake.silent.add("stor1")
    result = installed("apply", "rbd", "--limit", "stor2,stor3")
    assert fake.requests == [], result.output


def test_a_changed_input_makes_stale_exactly_what_depends_on_it(
    installed: Run, fake: Fake, tmp_path: Path
) -> None:
    def changed(text: str) -> list[str]:
        (tmp_path / "site.yml").write_text(text)
        return sorted(installed("apply") and fake.requests)

    assert changed(SITE + "components: {monitoring: {retention_days: 3}}\n") == ["monitoring"]
    assert changed(SITE) == ["monitoring"]
    assert changed(SITE + "ssh: {user: admin}\n") == []
    assert changed(SITE.replace("prometheus, alertmanager]}", "prometheus]}", 1)) == ["base", "monitoring"]


def test_a_failed_phase_is_run_again_and_what_was_done_is_not(avadm: Run, fake: Fake) -> None:
    fake.failing.add("ceph")
    assert avadm("apply").exit_code == 1
    fake.failing.clear()
    assert avadm("apply").exit_code == 0
    assert sorted(fake.requests) == ["ceph", "cephfs", "rbd"]


def test_what_a_killed_run_left_running_is_run_again_and_the_rest_is_proven(
    installed: Run, fake: Fake, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / ".avadm/t/ledger.json", "t")
    ledger.start("rbd", {"comp1": "x"}, "r")
    assert ledger.entry("rbd", "comp1").state is State.RUNNING
    installed("apply")
    assert fake.requests == ["rbd"]


def test_a_run_on_one_node_keeps_what_the_others_had_left_in_the_cluster(installed: Run, fake: Fake) -> None:
    fake.values["", "health 3"] = "better"
    fake.own["stor3"] = ("unit ceph", "health 3")
    assert installed("apply", "ceph", "--limit", "stor3", "--full").exit_code == 0
    assert installed("apply").exit_code == 0
    assert fake.requests == []
    fake.values["", "entity client.a"] = "another key"
    assert "drift on the cluster: entity client.a" in installed("apply", "ceph").output
    assert fake.requests == ["ceph"]
    # What a full run does not keep any more is nobody's.
    fake.own |= dict.fromkeys(("stor1", "stor2"), ("unit ceph",))
    assert installed("apply", "ceph", "--full").exit_code == 0
    fake.values["", "entity client.a"] = "absent"
    assert installed("apply", "ceph").exit_code == 0
    assert fake.requests == []


def test_fingerprints_of_another_run_prove_nothing(installed: Run, fake: Fake, tmp_path: Path) -> None:
    path = tmp_path / ".avadm/t/fingerprints.json"
    assert path.stat().st_mode & 0o777 == 0o600
    data = json.loads(path.read_text())
    data["phases"]["rbd"]["comp1"]["run"] = "other"
    path.write_text(json.dumps(data))
    installed("apply")
    assert fake.requests == ["rbd"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 99}', '{"version": 1, "salt": "x", "phases": {"base": 1}}']
)
def test_broken_fingerprints_prove_nothing(installed: Run, fake: Fake, tmp_path: Path, text: str) -> None:
    (tmp_path / ".avadm/t/fingerprints.json").write_text(text)
    installed("apply")
    assert len(fake.requests) == 5


def test_a_node_that_cannot_be_asked_what_a_phase_left_is_named_in_the_log(
    avadm: Run, fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = fake.run

    def run(node: str, command: str, **more: Any) -> fleet.Result:
        said = real(node, command, **more)
        asked = node == "comp2" and fake.asked[-1:] == ["comp2"]
        return fleet.Result(node, command, 1, "", "SyntaxError: no\n", 0, 0) if asked else said

    monkeypatch.setattr(fake, "run", run)
    assert avadm("apply", "base").exit_code == 0
    log = (tmp_path / "runs" / "latest" / "log.txt").read_text()
    assert "What base left on comp2 could not be asked, so it will run again: SyntaxError: no" in log
