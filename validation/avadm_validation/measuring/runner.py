"""Runs the checks of suites: measures, judges, measures again what stayed open, notes and tells each result."""

from __future__ import annotations

import contextlib
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
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.evidence import Recorder
from avadm_validation.protocol.fleet import Fleet
from avadm_validation.protocol.judge import check_verdict, deciding, judged
from avadm_validation.protocol.manifest import Manifest
from avadm_validation.protocol.model import GOOD, CheckResult, Class, Verdict


def longer(params: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return a check's parameters with windows ``factor`` times as long, ``more`` times as many, and files enough for them."""
    scaled = {k: params[k] * factor for k in ("duration_s", "read_s", "fill_s") if k in params}
    if "repetitions" in params:
        scaled["repetitions"] = int(params["repetitions"] * params.get("more", 1))
    if "max_files" in params:
        scaled["max_files"] = int(params["max_files"] * factor)
    return {**params, **scaled}


def _many(before: Mapping[str, Any], again: Mapping[str, Any]) -> str:
    first, second = before.get("repetitions"), again.get("repetitions")
    return f", {second} of them instead of {first}" if first != second else ""


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
        progress: told of each step.
        finished: told of each check's result.
        warn: told of each thing that could not be put back, after an interruption too.
        left: the same, for the report.
        telling: held while something is told: a suite may run checks at the same time.
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

    def context(self, check: str, params: Mapping[str, Any]) -> Context:
        """Return a check's view of the run."""
        return Context(
            target=self.target,
            rec=Recorder(self.fleet, self.folder, check),
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
        ctx, started, clock = self.context(check.ID, params), now(), time.monotonic()
        outcome = self.measure(check, ctx)
        result = self.result(check, ctx, outcome, started, time.monotonic() - clock)
        factor = float(params.get("again", 1))
        again = longer(params, factor) if factor > 1 else params
        # A check without windows would only be repeated as it was.
        if result.verdict is Verdict.INCONCLUSIVE and again != params:
            # Only the second, longer measurement counts: nothing of the first is pooled, picked or thrown away.
            ctx.params = again
            outcome = self.measure(check, ctx)
            outcome.reasons.append(
                f"measured again with windows {factor:g} times as long{_many(params, again)}, because the first measurement "
                f"was inconclusive ({result.reasons[0]}); only the second counts, the raw files of both are kept"
            )
            result = self.result(check, ctx, outcome, started, time.monotonic() - clock)
        return self.done(result, outcome.verdict)

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
            return Outcome(method="", reasons=[f"could not be measured: {e}"], verdict=Verdict.FAIL)
        except Exception as e:  # a fault of ours must not cost the hours that others measured
            ctx.rec.save("traceback.txt", traceback.format_exc())
            why = f"the check itself broke ({type(e).__name__}: {e}); see traceback.txt beside its raw files"
            return Outcome(method="", reasons=[why], verdict=Verdict.FAIL)

    def result(
        self, check: Check, ctx: Context, outcome: Outcome, started: str, seconds: float
    ) -> CheckResult:
        """Return a check's line in the report."""
        metrics = judged(check.ID, outcome.metrics, self.criteria, ctx.class_) if outcome.metrics else []
        verdict = check_verdict(check.ID, metrics, outcome.verdict)
        head = deciding(metrics)
        bad = [m.reason for m in metrics if m.verdict not in (None, Verdict.PASS, Verdict.PROJECTED)]
        unstable = [m.name for m in metrics if "unstable" in m.flags]
        reasons = [*bad, *([head.reason] if head and not bad else []), *outcome.reasons]
        if unstable:
            reasons.append(f"unstable (variation above 10 %): {', '.join(unstable)}")
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
