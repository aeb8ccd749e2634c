"""Runs an operation: refused early, recorded before each change, resumed by the same command, settings undone at every end."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.half_done import half_done
from avadm.cluster.setting import Setting
from avadm.cluster.settings import Settings, blocks
from avadm.engine.session import Session, lock_session
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations.model import Gate, Operation, Progress, Step, Tell
from avadm.quantity import quantity
from avadm.remote.fleet import Fleet
from avadm.site.load import SiteFile, load
from avadm.state import summary
from avadm.state.lock.nodes import LockNodes
from avadm.state.lock.owner import user
from avadm.state.operations import OPERATION, OperationRecord
from avadm.state.run_folder import RunFolder

Build = Callable[[Cluster], Operation]
"""Plans an operation from what the cluster reports; changes nothing."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, for tests."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def plan(site_file: SiteFile, fleet: Fleet, build: Build) -> Operation:
    """Return an operation as it would run now, without the site's lock; nothing is changed."""
    nodes = LockNodes(site_file, fleet)
    session = Session.open(site_file, nodes, nodes.do("show"), write=False)
    with closing(Cluster(site_file, fleet, session.records.state)) as cluster:
        operation = build(cluster)
    blocked = half_done(session.records.state, operation.components, operation.command)
    return replace(operation, refusals=[*blocked, *operation.refusals])


def refused(operation: Operation, accepted: Collection[str]) -> list[Finding]:
    """Return what forbids an operation: its refusals but for those that were accepted and may be.

    Raises:
        AvadmError: an id was accepted that this verb does not know, e.g. a misspelt one.
    """
    if unknown := sorted(set(accepted) - operation.acceptable):
        known = ", ".join(sorted(operation.acceptable)) or "none"
        raise AvadmError.of("accept-unknown", where="--accept", found=", ".join(unknown), wanted=known)
    out = []
    for one in operation.refusals:
        if one.check in accepted:
            continue
        may = (
            f"`--accept {one.check}` accepts it."
            if one.check in operation.acceptable
            else f"No option accepts `{one.check}`."
        )
        out.append(replace(one, remedy=f"{one.remedy} {may}"))
    return out


def run(
    site_file: SiteFile,
    fleet: Fleet,
    build: Build,
    accepted: Collection[str],
    tell: Tell,
    *,
    break_lock: bool = False,
    resumes: str = "",
    clock: Clock | None = None,
) -> RunFolder:
    """Run an operation under the site's lock; return its run folder.

    Args:
        site_file: the site.
        fleet: ssh to its nodes.
        build: plans it; asked again under the lock, since the cluster may have changed since it was shown.
        accepted: ids of refusals that the user accepts.
        tell: shows one line of progress.
        break_lock: whether a lock of another run is removed.
        resumes: the command that the plan named: what it had set before it was killed may stay set (`Setting.resumed`).
        clock: time, for tests.

    Raises:
        AvadmError: refused, or the site file was changed meanwhile, with nothing changed (exit 2); a step failed or a gate
            did not open (exit 1).
    """
    verb = resumes.removeprefix("avadm ") or "operation"
    with (
        lock_session(site_file, fleet, verb, tell, break_lock=break_lock) as session,
        closing(Cluster(site_file, fleet, session.records.state, session.replica)) as cluster,
    ):
        # Another plan than the one that was shown is never run.
        if load(site_file.path).site != site_file.site:
            raise AvadmError.of("site-file-changed", where=str(site_file.path))
        return _prepared(cluster, build, accepted, tell, resumes, clock or Clock())


def _prepared(
    cluster: Cluster, build: Build, accepted: Collection[str], tell: Tell, resumes: str, clock: Clock
) -> RunFolder:
    """Undo what killed commands left, plan, and run what is not refused."""
    settings = Settings(cluster, tell)
    left = settings.recover(OPERATION + resumes)
    operation = build(cluster)
    against = [*half_done(cluster.state, operation.components, operation.command)]
    against += refused(operation, accepted)
    if resumes and (left or against or operation.command != resumes):
        left = settings.recover()
    if findings := [*left, *against]:
        raise AvadmError(findings)
    return _recorded(cluster, operation, settings, tell, clock)


def _recorded(
    cluster: Cluster, operation: Operation, settings: Settings, tell: Tell, clock: Clock
) -> RunFolder:
    """Run the steps of an operation, and keep how it went in a run folder."""
    folder = RunFolder.create(operation.verb.replace(" ", "-"))
    folder.write_json("plan.json", operation.as_dict())
    begun, lines = time.time(), [f"$ {operation.command}"]

    def noted(line: str) -> None:
        lines.append(f"{time.strftime('%H:%M:%S')} {line}")
        tell(line)

    result = "failed"
    try:
        _steps(cluster, operation, settings, noted, clock)
        result = "good"
    except KeyboardInterrupt:
        result = "canceled"
        raise
    except AvadmError as error:
        lines += [f"{f.where or f.host or ''}: {f.what} {f.found}" for f in error.findings]
        raise
    finally:
        with suppress(OSError):
            folder.log.write_text("\n".join([*lines, f"result: {result}", ""]), encoding="utf-8")
            summary.write(
                folder,
                {
                    "site": cluster.site.name,
                    "verb": operation.verb,
                    "result": result,
                    "seconds": round(time.time() - begun, 1),
                    "next": operation.command,
                },
            )
    return folder


def _steps(cluster: Cluster, operation: Operation, settings: Settings, tell: Tell, clock: Clock) -> None:
    """Run what is not done of an operation, with its settings held as long as its steps need them."""
    state, owner = cluster.state, OPERATION + operation.command
    former = next((one for one in state.begun() if one.command == operation.command), None)
    record = former or OperationRecord(
        operation.command,
        operation.verb,
        tuple(sorted(operation.components)),
        time.time(),
        current_user(),
    )
    state.keep_operation(record)
    cluster.push()
    steps = list(operation.steps)
    try:
        # Also over those that a step planned again.
        for number, step in enumerate(steps, start=1):
            title = f"[{number}/{len(steps)}] {step.name}"
            if step.done is not None and step.done():
                tell(f"{title}: done already")
            else:
                settings.hold(step.settings, owner)
                tell(title)
                _do(step, tell, clock)
            if step.then is not None:
                steps[number:] = step.then()
            # What stays when it has ended well is held to the end.
            if not operation.keeps:
                needed = steps[number].settings if number < len(steps) else ()
                _release(cluster, settings, owner, [s for s in step.settings if s not in needed], tell)
            record = replace(record, steps=(*(n for n in record.steps if n != step.name), step.name))
            state.keep_operation(record)
        if operation.keeps:
            settings.hand_over(owner, operation.keeps)
        state.drop_operation(operation.command, operation.notes)
    finally:
        mine = [r for r in state.settings() if r.owner == owner]
        if left := settings.release(mine):
            for one in left:
                tell(f"Not undone: {one.found}")
        cluster.push()


def _do(step: Step, tell: Tell, clock: Clock) -> None:
    """Run a step and wait for its gate; where that fails and the step can be taken back, it is."""
    try:
        step.act(tell)
        if step.gate is not None:
            pass_gate(step.gate, tell, clock)
    except AvadmError as error:
        if step.undo is None:
            raise
        tell(f"    failed, taking it back: {error.findings[0].what} {error.findings[0].found}")
        try:
            step.undo(tell)
        except AvadmError as more:
            raise AvadmError([*error.findings, *more.findings], error.exit_code) from more
        raise


def current_user() -> str:
    """Return who runs avadm, USER@HOST."""
    return f"{user()}@{socket.gethostname()}"


def _release(cluster: Cluster, settings: Settings, owner: str, ended: Sequence[Setting], tell: Tell) -> None:
    """Undo settings of an operation that its next step does not need; what blocks nothing is tried again at its end."""
    names = {(s.kind, s.target) for s in ended}
    records = [r for r in cluster.state.settings() if r.owner == owner and (r.kind, r.target) in names]
    if records and (left := settings.release([r for r in records if blocks(r)])):
        raise AvadmError(left, EXIT_FOUND_BAD)
    for one in settings.release([r for r in records if not blocks(r)]):
        tell(f"Not undone yet: {one.found}")


def pass_gate(gate: Gate, tell: Tell, clock: Clock) -> None:
    """Wait until a gate is open.

    Raises:
        AvadmError: without progress for the gate's patience (exit 1), with what holds it.
    """
    least: float | None = None
    since, shown = clock.now(), ""
    while True:
        try:
            seen = gate.look()
        except AvadmError as error:
            seen = Progress(str(error), least if least is not None else float("inf"))
        if not seen.holds:
            return
        if least is None or seen.left < least:
            least, since = seen.left, clock.now()
        since = max(since, clock.now() + seen.expected_s) if seen.expected_s > 0 else since
        if clock.now() - since >= gate.patience:
            raise AvadmError(_closed(gate, seen), EXIT_FOUND_BAD)
        if seen.holds != shown:
            tell(f"    waiting until {gate.title}: {seen.holds}")
            shown = seen.holds
        clock.sleep(gate.every)


def _closed(gate: Gate, seen: Progress) -> Finding:
    remedy = f" {gate.remedy}" if gate.remedy else ""
    return finding(
        "gate-closed", found=seen.holds, wanted=gate.title, patience=f"{gate.patience:g}", remedy=remedy
    )


def show(operation: Operation, accepted: Collection[str] = ()) -> Sequence[str]:
    """Return the plan as lines for people, with the refusals that the user accepted."""
    lines = [
        f"{operation.verb}: {quantity(len(operation.steps), 'step')} on {', '.join(operation.nodes) or 'no node'}"
    ]
    for number, step in enumerate(operation.steps, start=1):
        lines.append(f"  {number}. {step.name}")
        if step.settings:
            lines.append(f"       set meanwhile: {', '.join(s.title for s in step.settings)}")
        if step.gate is not None:
            lines.append(f"       then waits until {step.gate.title}")
        if step.undo is not None:
            lines.append("       taken back where it fails")
    for one in operation.interrupts:
        long = "for an unknown time" if one.seconds is None else f"for up to {one.seconds:g} s"
        lines.append(f"  Interrupted: {one.what}" + (f", {long}" if one.seconds != 0.0 else ""))
    lines += [f"  Run on {one.node}: {one.text}" for one in operation.runs]
    lines += [f"  Package: {one}" for one in operation.packages]
    taken = [one for one in operation.refusals if one.check in accepted]
    lines += [
        f"  Accepted: {one.check}, {one.host or one.where or operation.verb}: {one.found or one.what}"
        for one in taken
    ]
    return lines
