"""When a run's checks are made: those that time things alone, the others of all suites side by side.

First each suite is prepared and its checks that need a quiet machine are made, one after another, with nothing of ours
beside them. Then come the checks that judge what happens and not how fast: the suites side by side, within a suite in
stages. Everything is put back at the end, by one suite after another, the first to come last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.protocol.model import CheckResult

Stages = Sequence[Sequence[Check]]
"""Checks that nothing timed is made beside: stages follow one another, the checks of a stage are made at the same time."""


@dataclass
class Session:
    """What a suite has to do in a run, once it is prepared.

    Attributes:
        one: makes a check.
        chosen: its checks in the order of a report.
        beside: those of its checks that others may be made beside; all others are made alone.
        alone_first: those of the others that come before the rest.
        results: of what was made already: the preconditions.
        clear: removes what no one needs any more, once nothing timed is made; at the same time as the stages.
        closing: begins to put back, after its last stage, what takes long, while other suites are at work; the end looks again.
    """

    one: Callable[[Check], CheckResult]
    chosen: Sequence[Check]
    beside: Stages = ()
    alone_first: Sequence[Check] = ()
    results: list[CheckResult] = field(default_factory=list)
    clear: Callable[[], None] | None = None
    closing: Callable[[], object] | None = None

    def alone(self) -> None:
        """Make the checks that need a quiet machine, one after another."""
        others = [c for stage in self.beside for c in stage]
        quiet = [c for c in self.chosen if c not in others]
        for check in sorted(quiet, key=lambda c: c not in self.alone_first):
            self.results.append(self.one(check))

    def stages(self) -> list[list[Check]]:
        """Return the stages with what was chosen of each; none is empty."""
        found = [[c for c in stage if c in self.chosen] for stage in self.beside]
        return [stage for stage in found if stage]

    def in_order(self) -> list[CheckResult]:
        """Return the results in the order of a report, the preconditions first."""
        if len(self.results) < 2:
            return self.results
        place = {c.ID: i for i, c in enumerate(self.chosen)}
        return sorted(self.results, key=lambda r: place.get(r.id, -1))


def begun(
    runner: Runner,
    package: str,
    first: Check,
    checks: Sequence[Check],
    beside: Stages,
    only: Sequence[str],
    *,
    unfit: Callable[[Check], str] = lambda _: "",
    closing: Callable[[], object] | None = None,
) -> Session:
    """Look at a suite's preconditions and return what it has to do.

    Args:
        runner: the run, which notes each check that is left out.
        package: of the suite, with its efforts.
        first: its preconditions.
        checks: all others.
        beside: see `Session`.
        only: ids of checks; none: all that the site has, and a note of each that it has not.
        unfit: why a check has nothing to measure at this site, "" where it has; asked once for each, after the
            preconditions.
        closing: see `Session`.
    """
    params = runner.efforts(package)
    done = runner.one(first, params[first.ID])
    named = [check for check in checks if not only or check.ID in only]
    lacks = {check.ID: unfit(check) for check in named}
    left_out = [] if only else [check for check in named if lacks[check.ID]]
    runner.left += [f"{check.ID} was left out: {lacks[check.ID]}." for check in left_out]

    def one(check: Check) -> CheckResult:
        return runner.after(done, check, params[check.ID], lacks[check.ID])

    chosen = [check for check in named if check not in left_out]
    return Session(one, chosen, beside, results=[done], closing=closing)


Opening = Callable[[Runner, Sequence[str]], AbstractContextManager[Session]]
"""Prepares a suite for a run with the checks that are named (none: all), and puts back what it changed."""


def make(runner: Runner, asked: Sequence[tuple[Opening, Sequence[str]]]) -> list[CheckResult]:
    """Make the checks of some suites, in the order in which the suites are asked for; return their results in that order.

    Args:
        runner: the run, which they share.
        asked: how each suite is opened, and the checks of it that are named.
    """
    with ExitStack() as stack:
        stack.enter_context(_tools(runner))
        sessions = []
        for opening, only in asked:
            session = stack.enter_context(opening(runner, only))
            sessions.append(session)
            session.alone()
        _side_by_side(sessions)
    return [result for session in sessions for result in session.in_order()]


def _side_by_side(sessions: Sequence[Session]) -> None:
    """Make the stages of all sessions, the sessions at the same time; after an interruption no further check begins."""
    stopped = threading.Event()
    clearing = [s.clear for s in sessions if s.clear]
    with ThreadPoolExecutor(len(sessions) + len(clearing) + 1) as pool:
        try:
            cleared = [pool.submit(clear) for clear in clearing]
            for ended in [*[pool.submit(_in_turn, s, stopped) for s in sessions], *cleared]:
                ended.result()
        except BaseException:
            stopped.set()
            raise


def _in_turn(session: Session, stopped: threading.Event) -> None:
    for stage in session.stages():
        if stopped.is_set():
            return
        with ThreadPoolExecutor(len(stage)) as pool:
            begun: list[Future[CheckResult]] = [pool.submit(session.one, check) for check in stage]
            session.results += [ended.result() for ended in begun]
    if session.closing:
        session.closing()


@contextmanager
def _tools(runner: Runner) -> Iterator[None]:
    """Remove the run's folder of tools from the nodes at the very end: what suites put back needs the tools of others."""
    try:
        yield
    finally:
        with shielded():
            runner.remove_tools()
