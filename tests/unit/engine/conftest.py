import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from avadm.components.model import Phase
from avadm.engine.apply import Engine, Job
from avadm.engine.recorder import Recorder
from avadm.plan.graph import ScheduledPhase
from avadm.remote.ansible import PlaybookResult, PlaybookRun
from avadm.remote.events import Event, Kind
from avadm.state.run_folder import RunFolder
from avadm.state.site_state import SiteState


def phase(name: str, *needs: str) -> Phase:
    return Phase(name, name, f"playbooks/{name}.yml", needs, (), (name,))


def step(name: str, hosts: Sequence[str], *needs: str) -> ScheduledPhase:
    return ScheduledPhase(phase(name, *needs), tuple(hosts), needs, 1)


@dataclass
class FakeRunner:
    """Plays what a playbook does on each host: phase to host to "ok", "changed", "failed", "unreachable"."""

    script: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[PlaybookRun] = field(default_factory=list)
    during: Callable[[PlaybookRun], None] = lambda request: None
    give_up: set[str] = field(default_factory=set)
    rc: dict[str, int] = field(default_factory=dict)

    def run(self, request, on_event, canceled):
        self.requests.append(request)
        say = lambda kind, **more: on_event(Event(time.time(), request.phase, kind, **more))  # noqa: E731
        say(Kind.TASK_START, task="role : work")
        self.during(request)
        if canceled():
            return PlaybookResult(254, canceled=True)
        did = {h: self.script.get(request.phase, {}).get(h, "ok") for h in request.limit}
        for host, what in did.items():
            say(Kind(what), host=host, task="role : work", seconds=0.1, message=f"{what} on {host}")
        if request.phase in self.give_up:
            say(Kind.NO_HOSTS_LEFT)
        if request.phase in self.rc:
            return PlaybookResult(self.rc[request.phase])
        say(Kind.STATS, stats={h: {"ok": int(w in ("ok", "changed")), w: 1} for h, w in did.items()})
        bad = set(did.values())
        return PlaybookResult(2 if "failed" in bad else 4 if "unreachable" in bad else 0)

    @property
    def limits(self) -> dict[str, tuple[str, ...]]:
        return {r.phase: r.limit for r in self.requests}


@dataclass
class Bench:
    """An engine with everything fake around it."""

    folder: RunFolder
    site_state: SiteState
    runner: FakeRunner

    def run(self, steps: list[ScheduledPhase], **job: object) -> Recorder:
        recorder = Recorder(self.folder)
        about = Path("/home"), self.folder.inventory, self.folder.id, lambda step, host: "d1"
        self.engine = Engine(Job(steps, *about, **job), self.runner, self.site_state, recorder)
        with recorder:
            self.engine.run()
        return recorder


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = RunFolder.create("apply", tmp_path / "runs")
    return Bench(folder, SiteState(tmp_path / "ledger.json", "t"), FakeRunner())
