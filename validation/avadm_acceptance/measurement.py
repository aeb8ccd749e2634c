"""A run of acceptance: site file, fleet and run folder make a report; and the verification of a report."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from avadm.commit import commit
from avadm.errors import AvadmError
from avadm.remote.fleet import Fleet
from avadm.site.load import SiteFile
from avadm.state.lock.controller import lock_controller
from avadm.state.run_folder import RunFolder
from avadm.state.site_state import state_folder
from avadm_acceptance.selection import execute
from avadm_acceptance.target import target_of
from avadm_validation import registry
from avadm_validation.measuring.context import MeasureError, Progress
from avadm_validation.measuring.machine import watched
from avadm_validation.measuring.runner import Runner, class_of, now
from avadm_validation.protocol.load import words
from avadm_validation.protocol.model import CheckResult, Report

if TYPE_CHECKING:
    from avadm_acceptance.report.text import Language

Effort = Literal["quick", "full"]


def run(
    site_file: SiteFile,
    fleet: Fleet,
    folder: RunFolder,
    *,
    only: Sequence[str] = (),
    suite: str = "all",
    effort: Effort = "full",
    seed: int | None = None,
    language: Language = "en",
    progress: Callable[[Progress], None] = lambda step: None,
    finished: Callable[[CheckResult], None] = lambda result: None,
) -> Report:
    """Measure, judge, and write the report into ``FOLDER/report``; its titles are in ``language``.

    Raises:
        AvadmError: another run holds the site, or the clients cannot be used at all.
    """
    target = target_of(site_file)
    report_folder = folder.path / "report"
    report_folder.mkdir()
    criteria = registry.criteria("lab" if target.kind == "lab" else "stated")
    runner = Runner(
        target,
        fleet,
        report_folder,
        criteria,
        effort,
        folder.id.partition("-")[0].lower() + secrets.token_hex(2),
        seed=secrets.randbelow(10**6) if seed is None else seed,
        progress=progress,
        finished=finished,
    )
    started, revision, begun = now(), commit(), time.time()
    with lock_controller(state_folder(site_file.path, target.site), "accept"):
        try:
            with watched(report_folder) as runner.machine:
                checks = execute(runner, only, suite, site_file)
                load = runner.machine.since(begun)
        except MeasureError as error:
            raise AvadmError.of(
                "acceptance-not-possible",
                where=target.site,
                found=str(error),
                wanted="clients and a mon node that answer",
            ) from error
    found = registry.conditions(target, checks, report_folder)
    report = Report(
        site=target.site,
        profile=target.profile,
        suite=registry.names_of(checks),
        effort=effort,
        class_=class_of(target.kind, effort),
        started=started,
        finished=now(),
        seed=runner.seed,
        versions=found.versions,
        git_commit=revision,
        config_hash=criteria.digest(),
        inventory_hash=hashlib.sha256(site_file.path.read_bytes()).hexdigest(),
        environment={**found.environment, "load of the controller's machine": words(load)},
        notes=[*target.notes, *runner.left],
        checks=checks,
    )
    report = runner.manifest.seal(report, report_folder)
    _write(report, report_folder, language)
    return report


def verified(where: Path) -> tuple[Report, list[str]]:
    """Return a report and what does not agree with its raw files; AvadmError where there is no report."""
    path = where / "report.json" if where.is_dir() else where
    if where.is_dir() and not path.is_file():
        path = where / "report" / "report.json"
    try:
        report = Report.load(path)
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        raise AvadmError.of(
            "no-report", where=str(path), found=why or "", wanted="a report.json or its folder"
        ) from error
    return report, registry.verified(report, path.parent)


def _write(report: Report, folder: Path, language: Language) -> None:
    from avadm_acceptance.report import write

    write(report, folder, language)
