"""A whole run from the site's lock to its summary, for apply and plan --deep; the command line parses and prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress

from avadm import paths
from avadm.artifacts.requirements import refuse_missing
from avadm.checks.versions import check as check_versions
from avadm.cluster.connection import Cluster
from avadm.cluster.half_done import half_done
from avadm.cluster.settings import Settings
from avadm.drift.collector import Collector, record
from avadm.drift.detection import detect_drift, is_current
from avadm.drift.report import Reports, announced, remaining, warned
from avadm.drift.saved_plan import SavedPlan
from avadm.engine.apply import Engine, Job
from avadm.engine.peers import PeersFirst, Telling
from avadm.engine.recorder import Recorder
from avadm.engine.request import Notes, Request, Show
from avadm.engine.session import Session, lock_session, schedule
from avadm.engine.summary import Summary
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.inventory import render
from avadm.inventory.desired import Desired
from avadm.inventory.render import Inventory
from avadm.inventory.vault_guard import marks
from avadm.plan.graph import ScheduledPhase, subset
from avadm.quantity import quantity
from avadm.remote.ansible import AnsibleRunner
from avadm.remote.fleet import Fleet
from avadm.remote.redact import Redactor
from avadm.site.load import SiteFile
from avadm.state import bootstrap_marks
from avadm.state import summary as summaries
from avadm.state.prune import prune
from avadm.state.run_folder import RunFolder, discard
from avadm.state.summary import RunSummary


def apply(site_file: SiteFile, fleet: Fleet, request: Request, notes: Notes, show: Show) -> RunSummary:
    """Install what is asked for under the site's lock; return the summary, whose ``run`` is None where nothing was to do.

    Raises:
        AvadmError: the site is locked, its vault lost, the kept plan no longer holds, or nothing takes part.
    """
    verb = "check" if request.check else "apply"
    with lock_session(
        site_file, fleet, verb, notes, break_lock=request.break_lock, dry_run=request.check
    ) as session:
        steps, before, reports = _requested(session, request)
        if not request.check:
            _settle_operations(session, steps, notes)
        if steps:
            session.records.state.settle()
            data = execute(session, steps, verb, request, notes, show, before, reports)
        else:
            about = RunSummary(
                run=None, verb=verb, site=site_file.site.name, seconds=0.0, check=request.check
            )
            data = {**about, **Summary().as_dict(), "log": None, "next": request.command}
    with suppress(OSError):
        if old := prune():
            notes(
                f"Removed the folders of {quantity(len(old), 'old run')} (`avadm runs prune` says which stay)."
            )
    return data


def _settle_operations(session: Session, steps: Sequence[ScheduledPhase], notes: Notes) -> None:
    """Undo the settings of a killed operation; refuse phases of components on which one is half done.

    Raises:
        AvadmError: one is half done on a component of these steps, or a setting could not be undone.
    """
    with closing(
        Cluster(session.site_file, session.fleet, session.records.state, session.replica)
    ) as cluster:
        left = Settings(cluster, notes).recover()
    if findings := [*left, *half_done(session.records.state, {step.name for step in steps})]:
        raise AvadmError(findings)


def _requested(
    session: Session, request: Request
) -> tuple[list[ScheduledPhase], Desired | None, Reports | None]:
    """Return the phases that are asked for, and what had to be known of the site to choose them.

    A kept plan is compared, and ``resume`` judged, before secrets and certificates are made: the plan was made so.

    Raises:
        AvadmError: unknown phases, nothing takes part, or a plan made now would differ from the kept one.
    """
    state = session.records.state
    steps = schedule(session.site_file.site, state, request.phases, request.limit)
    if not (request.resume or request.kept):
        return steps, None, None
    before = Desired.read(session.site_file, session.keyring)
    reports: Reports | None = None
    if request.resume:
        steps = subset(steps, [s.name for s in steps if not is_current(before, state, s)])
    if request.kept:
        kept, path = request.kept
        reports = detect_drift(before, session.records, session.fleet, steps)
        kept.refuse_changes(SavedPlan.of(before, kept.asked, kept.limit, steps, reports), path)
    return steps, before, reports


def execute(
    session: Session,
    steps: list[ScheduledPhase],
    verb: str,
    request: Request,
    notes: Notes,
    show: Show,
    before: Desired | None = None,
    reports: Reports | None = None,
) -> RunSummary:
    """Run what of a plan is not proven unchanged and return its summary, which is also in the new run folder.

    Args:
        session: the site.
        steps: what is asked for.
        verb: names the run folder.
        request: how it was asked for.
        notes: messages beside events.
        show: makes what shows the events.
        before: what the site is to be, where that was read already.
        reports: the drift of the steps; the nodes are asked where this is not known yet.
    """
    started, site = time.time(), session.site_file.site
    with _run_folder(verb) as folder:
        desired = _make_desired(session, before, request.check)
        known = bootstrap_marks.variables(session.records.state, site)
        inventory = render.write(desired, folder.inventory, known, request.own)
        if reports is None:
            again = request.full or request.own or request.check
            reports = {} if again else detect_drift(desired, session.records, session.fleet, steps)
        for text in warned(reports):
            notes(text)
        plan = remaining(steps, reports)
        refuse_missing(site, [step.phase for step in plan], session.site_file.profile.versions)
        folder.write_json("plan.json", {"site": site.name, "phases": [s.as_dict() for s in steps]})
        job = _job(session, desired, inventory, plan, folder, request, notes)
        peers = Telling.of(desired, session.records.snapshots, session.fleet, steps, reports)
        runner = PeersFirst(AnsibleRunner(Redactor(desired.keyring.vault.values())), peers)
        shown = show(site, steps)
        with Recorder(folder, shown) as recorder, notes.logged(recorder):
            canceled = False
            try:
                with shown:
                    for event in announced(steps, reports):
                        recorder(event)
                    Engine(job, runner, session.records.state, recorder).run()
            except KeyboardInterrupt:
                canceled = True
            finally:
                data = _summary(session, folder, recorder, request, started, canceled)
        return data


@contextmanager
def _run_folder(verb: str) -> Iterator[RunFolder]:
    """Yield a new run folder, which is removed where the run could not start."""
    folder = RunFolder.create(verb)
    try:
        yield folder
    except BaseException:
        if not folder.begun:
            discard(folder)
        raise


def _make_desired(session: Session, before: Desired | None, check: bool) -> Desired:
    """Return what a site is to be, with all its secrets and certificates, which are made where they are missing."""
    state = session.records.state
    desired = Desired.make(session.site_file, session.keyring, state.bootstrapped("vault"), before)
    if not check:
        for name, mark in marks(desired.secrets or {}).items():
            state.found("vault", name, mark)
    return desired


def _job(
    session: Session,
    desired: Desired,
    inventory: Inventory,
    plan: Sequence[ScheduledPhase],
    folder: RunFolder,
    request: Request,
    notes: Notes,
) -> Job:
    """Return what the engine needs to run a plan, and to record what each phase leaves."""
    snapshots, vault = session.records.snapshots, desired.keyring.vault
    collector = Collector(session.site_file, session.fleet, snapshots.salt)

    def versions(phase: str, nodes: Sequence[str]) -> list[Finding]:
        return check_versions(session.site_file, session.fleet, phase, nodes)

    def settled(phase: str, managed: Mapping[str, Sequence[str]]) -> None:
        for node, why in record(collector, snapshots, phase, folder.id, managed).items():
            notes.to_log(f"What {phase} left on {node} could not be asked, so it will run again: {why}")
        for node, why in session.replica.push().items():
            notes.to_log(f"The state could not be copied to {node}: {why}")

    return Job(
        steps=plan,
        home=paths.home(),
        inventory=inventory.folder,
        run=folder.id,
        digest=lambda step, host: desired.digests.host(step.phase, host),
        vault=(vault.path, vault.password_file) if vault.path.exists() else None,
        versions=versions,
        settled=settled,
        forks=request.forks,
        check=request.check,
    )


def _summary(
    session: Session,
    folder: RunFolder,
    recorder: Recorder,
    request: Request,
    started: float,
    canceled: bool,
) -> RunSummary:
    data = recorder.summary.as_dict()
    if canceled or sys.exc_info()[0] is not None:
        data["result"] = "canceled" if canceled else "failed"
    about = RunSummary(
        run=folder.id,
        verb=folder.verb,
        site=session.site_file.site.name,
        started=f"{folder.started:%Y-%m-%dT%H:%M:%SZ}",
        seconds=round(time.time() - started, 1),
        check=request.check,
    )
    data = {**about, **data, "log": str(folder.log), "next": request.command}
    folder.write_json("ledger.json", session.records.state.as_dict())
    summaries.write(folder, data)
    return data
