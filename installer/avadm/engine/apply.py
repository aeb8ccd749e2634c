"""Runs a plan: independent phases at once, the dead carried to the end, the state always right."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from avadm.engine.recorder import Recorder
from avadm.errors import AvadmError
from avadm.findings import Finding, errors
from avadm.plan.graph import ScheduledPhase
from avadm.quantity import quantity
from avadm.remote.ansible import PlaybookResult, PlaybookRun, PlaybookRunner
from avadm.remote.events import Event, Kind
from avadm.state import bootstrap_marks
from avadm.state.site_state import PhaseState, SiteState

UNREACHABLE_RC = 4
"""ansible-playbook's exit status when hosts were unreachable and nothing else was wrong."""


@dataclass(frozen=True)
class Job:
    """What the engine needs to run a plan.

    Attributes:
        steps: the plan, in order.
        home: folder with playbooks/.
        inventory: the rendered inventory.
        run: id of the run.
        digest: (step, host) to the digest of the host's inputs.
        vault: the vault file and its password file, where there are secrets.
        versions: called after each phase that went well with the phase's name and the nodes that could be
            reached; its errors fail the phase.
        settled: called in the background after each phase, with its name and, for each host on which it went well, the
            items that its tasks keep there; the run waits for it at its end.
        forks: hosts at once, of each phase.
        check: whether to change nothing; the state is then left alone.
    """

    steps: Sequence[ScheduledPhase]
    home: Path
    inventory: Path
    run: str
    digest: Callable[[ScheduledPhase, str], str]
    vault: tuple[Path, Path] | None = None
    versions: Callable[[str, Sequence[str]], list[Finding]] | None = None
    settled: Callable[[str, Mapping[str, Sequence[str]]], None] | None = None
    forks: int = 25
    check: bool = False


@dataclass
class _Progress:
    """What is known while the plan runs; only the main thread changes it."""

    done: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)


class Engine:
    """Runs one job.

    Args:
        job: what to run.
        runner: adapter that runs playbooks.
        site_state: the site's state.
        recorder: gets every event.
    """

    def __init__(self, job: Job, runner: PlaybookRunner, site_state: SiteState, recorder: Recorder) -> None:
        self._job = job
        self._runner = runner
        self._site_state = site_state
        self._recorder = recorder
        self._stop = threading.Event()
        self._begun: set[str] = set()
        self._open: set[str] = set()
        """Names of the phases whose threads are at work; ``_begun`` also holds those that have ended."""
        self._gate = threading.Condition()

    def stop(self) -> None:
        """Ask every running phase to end; safe from any thread and signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Run the plan to its end; the result is in the recorder's summary.

        Raises:
            KeyboardInterrupt: again, after ctrl-C ended the children and the state was put right.
            AvadmError: what a phase's thread met and could not handle.
        """
        waiting = {s.name: s for s in self._job.steps}
        running: dict[Future[str], ScheduledPhase] = {}
        progress = _Progress()
        # In this order: a phase hands its work over before its own pool ends.
        with (
            ThreadPoolExecutor(2, thread_name_prefix="settled") as self._background,
            ThreadPoolExecutor(max_workers=max(1, len(waiting))) as pool,
        ):
            try:
                while waiting or running:
                    self._launch(waiting, running, progress, pool)
                    if running:
                        # In slices, since a wait without end keeps ctrl-C from being seen in some cases.
                        ended, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)
                        for future in ended:
                            self._take(running.pop(future), future.result(), progress)
            except BaseException:
                # Not by ``running`` or the pool: a ctrl-C between a thread's start and its entry there loses it.
                with self._gate:
                    self.stop()
                    self._gate.wait_for(lambda: not self._open)
                for step in (s for s in waiting.values() if s.name not in self._begun):
                    self._tell_waiting(step, "stopped before its turn")
                raise

    def _launch(
        self,
        waiting: dict[str, ScheduledPhase],
        running: dict[Future[str], ScheduledPhase],
        progress: _Progress,
        pool: ThreadPoolExecutor,
    ) -> None:
        for name, step in list(waiting.items()):
            if blocked := [n for n in step.needs if n in progress.bad]:
                del waiting[name]
                progress.bad.add(name)
                self._tell_waiting(step, f"waiting on {', '.join(blocked)}")
                continue
            if not all(n in progress.done for n in step.needs):
                continue
            hosts = tuple(h for h in step.hosts if h not in progress.dead)
            if not hosts and step.proven:
                del waiting[name]
                progress.done.add(name)
                message = (
                    f"proven unchanged on {quantity(len(step.proven), 'node')}; the others cannot be reached"
                )
                self._recorder(Event(time.time(), name, Kind.UNCHANGED, message=message, hosts=step.proven))
                continue
            if not hosts:
                del waiting[name]
                progress.bad.add(name)
                self._tell_waiting(step, "none of its nodes can be reached")
                continue
            running[pool.submit(self._phase, step, hosts)] = step
            del waiting[name]

    def _take(self, step: ScheduledPhase, state: str, progress: _Progress) -> None:
        # Who was found dead is left out of what starts later: each try would cost a time-out.
        progress.dead.update(self._recorder.dead())
        (progress.done if state == "done" else progress.bad).add(step.name)

    def _tell_waiting(self, step: ScheduledPhase, why: str) -> None:
        self._recorder(Event(time.time(), step.name, Kind.WAITING, message=why, hosts=step.hosts))

    def _phase(self, step: ScheduledPhase, hosts: tuple[str, ...]) -> str:
        """Run one phase in its own thread, unless the run was stopped, and return the state it ended in."""
        with self._gate:
            if self._stop.is_set():
                return "canceled"
            self._begun.add(step.name)
            self._open.add(step.name)
        try:
            return self._play(step, hosts)
        finally:
            with self._gate:
                self._open.discard(step.name)
                self._gate.notify_all()

    def _play(self, step: ScheduledPhase, hosts: tuple[str, ...]) -> str:
        started = time.time()
        self._recorder(Event(started, step.name, Kind.PHASE_START, hosts=hosts))
        if not self._job.check:
            digests = {h: self._job.digest(step, h) for h in hosts}
            self._site_state.start(step.name, digests, self._job.run)
        state = "failed"
        through: tuple[str, ...] = ()
        try:
            outcome = self._runner.run(self._request(step, hosts), self._heard, self._stop.is_set)
            through = outcome.through
            state = self._judge(step, hosts, outcome)
        except AvadmError as error:
            for finding in error.findings:
                self._recorder(Event(time.time(), step.name, Kind.LOG, message=f"ERROR! {finding.what}"))
        except OSError as error:
            self._recorder(Event(time.time(), step.name, Kind.LOG, message=f"ERROR! {error}"))
        finally:
            states = self._states(step.name, hosts, state, through)
            if not self._job.check:
                self._site_state.finish(step.name, states)
            seconds = time.time() - started
            self._recorder(Event(time.time(), step.name, Kind.PHASE_END, message=state, seconds=seconds))
        if self._job.settled is not None and not self._job.check:
            # Of a phase that failed no one knows how far it came on the others.
            done = [
                h for h, its in states.items() if its is PhaseState.DONE and (state == "done" or h in through)
            ]
            self._background.submit(self._settle, step.name, done)
        return state

    def _heard(self, event: Event) -> None:
        if not self._job.check:
            bootstrap_marks.keep(self._site_state, event.host, event.manages)
        self._recorder(event)

    def _settle(self, phase: str, done: Sequence[str]) -> None:
        """Do what follows a phase; what goes wrong there is no failure of the phase."""
        found = self._recorder.managed(phase)
        try:
            if self._job.settled is not None:
                self._job.settled(phase, {host: found.get(host, ()) for host in done})
        except (AvadmError, OSError) as error:
            text = f"What the phase left could not be recorded: {error}"
            self._recorder(Event(time.time(), phase, Kind.LOG, message=text))

    def _request(self, step: ScheduledPhase, hosts: tuple[str, ...]) -> PlaybookRun:
        vault, password = self._job.vault or (None, None)
        return PlaybookRun(
            phase=step.name,
            playbook=self._job.home / step.phase.playbook,
            inventory=self._job.inventory,
            limit=hosts,
            vault=vault,
            vault_password=password,
            forks=self._job.forks,
            check=self._job.check,
        )

    def _judge(self, step: ScheduledPhase, hosts: tuple[str, ...], outcome: PlaybookResult) -> str:
        if outcome.canceled or self._stop.is_set():
            return "canceled"
        counts = self._recorder.summary.phases[step.name]
        alive = [h for h in hosts if h in counts.hosts and not counts.hosts[h].get("unreachable")]
        if outcome.rc not in (0, UNREACHABLE_RC) or counts.count("failed") or not (alive or step.proven):
            return "failed"
        installed = [h for h in alive if h not in outcome.through]
        if self._job.versions is None or self._job.check or not installed:
            return "done"
        bad = errors(self._job.versions(step.name, installed))
        for finding in bad:
            text = f"{finding.what} Found {finding.found or '?'}, wanted {finding.wanted or '?'}."
            event = Event(
                time.time(), step.name, Kind.CHECK, finding.host, message=text, remedy=finding.remedy
            )
            self._recorder(event)
        return "failed" if bad else "done"

    def _states(
        self, phase: str, hosts: tuple[str, ...], state: str, through: Sequence[str]
    ) -> Mapping[str, PhaseState]:
        """Return the state's state of each host after the phase ended."""
        result = self._recorder.summary.phases[phase]
        wrong = {c.host for c in self._recorder.summary.checks if c.phase == phase}
        out = {}
        for host in hosts:
            counts = result.hosts.get(host, {})
            if counts.get("unreachable"):
                out[host] = PhaseState.UNREACHABLE
            elif state == "done" or host in through:
                out[host] = PhaseState.DONE
            elif counts.get("failed") or state == "canceled" or host in wrong or None in wrong:
                out[host] = PhaseState.FAILED
            elif counts and not result.no_hosts_left:
                out[host] = PhaseState.DONE
            else:
                # The playbook was given up before this host was through, or never began on it.
                out[host] = PhaseState.PENDING
        return out
