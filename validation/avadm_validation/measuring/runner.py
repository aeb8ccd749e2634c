"""Runs the checks of suites: measures, judges, measures again what stayed open, notes and tells each result."""

from __future__ import annotations

import contextlib
import math
import shlex
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from avadm_validation import data
from avadm_validation.measuring.check import Check
from avadm_validation.measuring.context import TOOLS, Context, MeasureError, Outcome, Progress
from avadm_validation.measuring.machine import EVERY_SECONDS, Watch, patience
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.evidence import Recorder
from avadm_validation.protocol.fleet import Fleet
from avadm_validation.protocol.judge import check_verdict, deciding, judged
from avadm_validation.protocol.load import Machine, words
from avadm_validation.protocol.manifest import Manifest
from avadm_validation.protocol.model import GOOD, CheckResult, Class, Verdict

BUSY = 1.5
"""Slowdown from which on a machine is called busy."""
CALM_SECONDS = 60.0
"""Longest wait for a busy machine to become idle before a check is repeated."""
REPEAT_WITHIN_SECONDS = {"quick": 1500.0, "full": math.inf}
"""Time of a run, by its effort, after which no check is repeated that has no windows to lengthen."""


def longer(params: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a check's parameters with windows ``factor`` times as long, ``more`` times as many, and files enough for them."""
    scaled = {k: params[k] * factor for k in ("duration_s", "read_s", "fill_s") if k in params}
    if "repetitions" in params:
        scaled["repetitions"] = int(params["repetitions"] * params.get("more", 1))
    if "max_files" in params:
        scaled["max_files"] = int(params["max_files"] * factor)
    return {**params, **scaled}


def _longer(before: Mapping[str, Any], again: Mapping[str, Any], factor: float) -> str:
    if before == again:
        return ""
    first, second = before.get("repetitions"), again.get("repetitions")
    many = f", {second} of them instead of {first}" if first != second else ""
    return f" with windows {factor:g} times as long{many}"


def class_of(kind: str, effort: str) -> Class:
    """Return the class of the numbers: lab, site-full, or site-sampled for a site's quick effort."""
    if kind == "lab":
        return "lab"
    return "site-full" if effort == "full" else "site-sampled"


def now() -> str:
    """Return the time as ISO 8601, UTC, seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@contextmanager
def shielded() -> Iterator[None]:
    """Hold off ctrl-C and polite kills while everything is put back; each step of it ends by itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def complain(text: str) -> None:
    """Say on standard error what the reader of no report would miss; never raises."""
    with contextlib.suppress(OSError, ValueError):
        print(f"avadm: {text}", file=sys.stderr, flush=True)


@dataclass
class Runner:
    """One run of acceptance, which its suites share.

    Attributes:
        target: what is measured.
        fleet: its nodes.
        folder: the report's folder.
        criteria: what judges.
        effort: ``quick`` or ``full``.
        run: id of the run.
        seed: seed of every random choice.
        progress: called with each step.
        finished: called with each check's result.
        warn: called with each thing that could not be put back, after an interruption too.
        left: the same, for the report.
        telling: held while something is reported: a suite may run checks at the same time.
        machine: watches the load of the controller's machine; None where nothing watches it.
        begun: when the run began, on the monotonic clock.
        made_again: what several checks share and could not be made at first: it is made again once.
    """

    target: Target
    fleet: Fleet
    folder: Path
    criteria: Criteria
    effort: str
    run: str
    seed: int = 1
    progress: Callable[[Progress], None] = lambda step: None
    finished: Callable[[CheckResult], None] = lambda result: None
    shared: dict[str, Any] = field(default_factory=dict)
    warn: Callable[[str], None] = complain
    left: list[str] = field(default_factory=list)
    manifest: Manifest = field(default_factory=Manifest)
    telling: threading.Lock = field(default_factory=threading.Lock)
    machine: Watch | None = None
    begun: float = field(default_factory=time.monotonic)
    made_again: set[str] = field(default_factory=set)

    def context(self, check: str, params: Mapping[str, Any]) -> Context:
        """Return a check's view of the run."""
        return Context(
            target=self.target,
            rec=Recorder(self.fleet, self.folder, check, patience),
            params=params,
            run=self.run,
            seed=self.seed,
            class_=class_of(self.target.kind, self.effort),
            progress=self.tell,
            clock_offset=self.shared.get("clock_offset", 0.0),
            shared=self.shared,
        )

    def efforts(self, package: str) -> dict[str, dict[str, Any]]:
        """Return the parameters of each check of a suite, whose ``effort.yml`` is in the package."""
        return data.efforts(package, self.target.kind, self.effort)

    def after(
        self, first: CheckResult, check: Check, params: Mapping[str, Any], unfit: str = ""
    ) -> CheckResult:
        """Run a check if the preconditions, whose result is ``first``, are met and the site has what it measures."""
        if first.verdict is not Verdict.PASS:
            return self.blank(check, Verdict.BLOCKED, ["the preconditions are not met", *first.reasons])
        if unfit:
            return self.blank(check, Verdict.NOT_RUN, [unfit])
        return self.one(check, params)

    def put_back(self, stayed: Sequence[str]) -> None:
        """Note and tell what could not be put back."""
        self.left += stayed
        for text in stayed:
            self.warn(text)

    def remove_tools(self) -> None:
        """Remove the folder of tools from the nodes that got one in this run; what cannot be reached keeps it in /tmp."""
        nodes = sorted(self.shared.pop(TOOLS, ()))
        if nodes:
            folder = shlex.quote(self.context("guard", {}).tools)
            self.fleet.map(dict.fromkeys(nodes, f"rm -rf --one-file-system {folder}"), timeout=60)

    def one(self, check: Check, params: Mapping[str, Any]) -> CheckResult:
        """Measure and judge one check; what goes wrong becomes its verdict, never an exception."""
        ctx = self.context(check.ID, params)
        outcome, result = self._measured(check, ctx)
        factor = float(params.get("again", 1))
        again = longer(params, factor) if factor > 1 else params
        # A check without windows would only be repeated as it was, which helps where it was not measured or the load explains it.
        if result.verdict is Verdict.INCONCLUSIVE and (again != params or self._worth_repeating(result)):
            # Only the second measurement counts: nothing of the first is pooled, picked or thrown away.
            ctx.params = again
            self._wait_for_calm(ctx)
            self._forget_errors()
            first = result.reasons[0]
            outcome, result = self._measured(
                check,
                ctx,
                f"measured again{_longer(params, again, factor)}, because the first measurement was inconclusive ({first}); only "
                "the second counts, the raw files of both are kept",
            )
        return self.done(result, outcome.verdict)

    def _measured(self, check: Check, ctx: Context, note: str = "") -> tuple[Outcome, CheckResult]:
        started, began, clock = now(), time.time(), time.monotonic()
        outcome = self.measure(check, ctx)
        outcome.reasons += [note] if note else []
        machine = self.machine.since(began) if self.machine else None
        return outcome, self.result(check, ctx, outcome, started, time.monotonic() - clock, machine)

    def _worth_repeating(self, result: CheckResult) -> bool:
        """Whether a check without windows may end otherwise when it is measured once more, and there is time for it."""
        if time.monotonic() - self.begun > REPEAT_WITHIN_SECONDS[self.effort]:
            return False
        values = [s.value for m in result.metrics if m.criterion for s in m.samples]
        busy = result.machine is not None and result.machine.peak >= BUSY
        return not result.metrics or any(map(math.isnan, values)) or busy

    def _wait_for_calm(self, ctx: Context) -> None:
        """Give a busy machine some time to become idle before a check is repeated."""
        end = time.monotonic() + CALM_SECONDS
        while self.machine and self.machine.patience() >= BUSY and time.monotonic() < end:
            ctx.step("waiting for the machine to become less busy")
            time.sleep(EVERY_SECONDS)

    def _forget_errors(self) -> None:
        """Let what several checks share be made once more, and only once, where it could not be made."""
        with self.telling:
            failed = [k for k, v in self.shared.items() if isinstance(v, MeasureError)]
            for key in set(failed) - self.made_again:
                del self.shared[key]
                self.made_again.add(key)

    def tell(self, step: Progress) -> None:
        """Tell of a step, one at a time."""
        with self.telling:
            self.progress(step)

    def done(self, result: CheckResult, own: Verdict | None) -> CheckResult:
        """Note a result in the manifest, tell of it, return it."""
        with self.telling:
            self.manifest.add(result, own, self.folder)
            self.finished(result)
        return result

    def measure(self, check: Check, ctx: Context) -> Outcome:
        """Let a check measure; whatever goes wrong is a failed outcome with the reason."""
        try:
            return check.run(ctx)
        except MeasureError as e:
            # Neither good nor bad was shown: the cause is reported, and an exit status of its own is not needed.
            remedy = "Remove the cause that is named and measure the check again."
            return Outcome(
                method="",
                reasons=[f"could not be measured: {e}"],
                verdict=Verdict.INCONCLUSIVE,
                remedy=remedy,
            )
        except Exception as e:  # a fault of ours must not cost the hours that others measured
            ctx.rec.save("traceback.txt", traceback.format_exc())
            why = f"the check itself broke ({type(e).__name__}: {e}); see traceback.txt beside its raw files"
            return Outcome(method="", reasons=[why], verdict=Verdict.FAIL)

    def result(
        self,
        check: Check,
        ctx: Context,
        outcome: Outcome,
        started: str,
        seconds: float,
        machine: Machine | None = None,
    ) -> CheckResult:
        """Return a check's line in the report."""
        metrics = (
            judged(check.ID, outcome.metrics, self.criteria, ctx.class_, machine) if outcome.metrics else []
        )
        verdict = check_verdict(check.ID, metrics, outcome.verdict)
        head = deciding(metrics)
        bad = [m.reason for m in metrics if m.verdict not in (None, Verdict.PASS, Verdict.PROJECTED)]
        unstable = [m.name for m in metrics if "unstable" in m.flags]
        reasons = [*bad, *([head.reason] if head and not bad else []), *outcome.reasons]
        if unstable:
            reasons.append(f"unstable (variation above 10 %): {', '.join(unstable)}")
        if machine and machine.peak >= BUSY and verdict not in GOOD:
            reasons.append(f"the machine was busy meanwhile: {words(machine)}")
        return CheckResult(
            id=check.ID,
            title=check.TITLE[0],
            title_zh=check.TITLE[1],
            verdict=verdict,
            measured=head.mean if head else None,
            unit=head.unit if head else "",
            threshold=head.criterion.threshold if head and head.criterion else None,
            op=head.criterion.op if head and head.criterion else None,
            scope=head.scope if head else "",
            ci95=head.ci95 if head else None,
            method=outcome.method,
            class_=ctx.class_,
            stated=self.criteria.stated(check.ID, self.target.kind == "site"),
            metrics=metrics,
            series=outcome.series,
            commands=ctx.rec.commands,
            evidence=ctx.rec.evidence,
            reasons=reasons,
            remedy="" if verdict in GOOD else outcome.remedy,
            started=started,
            seconds=seconds,
            machine=machine,
        )

    def blank(self, check: Check, verdict: Verdict, reasons: list[str]) -> CheckResult:
        """Return the line of a check that did not measure."""
        result = CheckResult(
            id=check.ID,
            title=check.TITLE[0],
            title_zh=check.TITLE[1],
            verdict=verdict,
            reasons=reasons,
            class_=class_of(self.target.kind, self.effort),
            stated=self.criteria.stated(check.ID, self.target.kind == "site"),
            remedy="Meet the preconditions first." if verdict is Verdict.BLOCKED else "",
            started=now(),
        )
        return self.done(result, verdict)
