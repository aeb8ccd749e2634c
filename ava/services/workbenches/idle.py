"""Stops idle workbenches, where the site says after how long; their users are notified first."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import httpx

from ava.domain import idle
from ava.domain.idle import Rule, Step
from ava.domain.model import Run
from ava.domain.problems import ApiError
from ava.domain.workbench import Workbench
from ava.services.config import Idle, LogStore
from ava.services.context import Context
from ava.services.prometheus import client

log = logging.getLogger(__name__)
EVERY = 60.0
"""Seconds between two looks."""
SELDOM = timedelta(minutes=5)
"""Between two notes that a workbench is busy."""
WATCH, JUMP = "idle-watch", "jump"
"""Parts in the database's heartbeats: this one, and the ssh gateway, which tells of sessions."""
CPU = (
    'sum by (pod_name) (rate(container_cpu_usage_seconds_total{image!="",container_name!="POD",'
    'namespace=~"ava-.+",pod_name=~"r.+"}[5m]))'
)
"""Cores that pods use. Without two samples of the last five minutes a pod is not in the answer."""
GPU = "max by (run) (run:gpu_utilization:percent)"
"""Per cent of the busiest card of a run, as Prometheus records it."""
BY = "the site's rule for idle workbenches"
Uses = Callable[[Iterable[Run]], Mapping[str, bool]]
"""Says of each run whose use is known whether it is busy; raises OSError, ValueError or httpx' errors where nothing is."""


class IdleWatcher:
    """Looks at the workbenches that run. Several processes may: what one does another finds done.

    Args:
        uses: what says whether runs are busy.
    """

    def __init__(self, context: Context, rule: Idle, uses: Uses) -> None:
        self.services, self.db, self.uses = context, context.db, uses
        self.rule = Rule(timedelta(hours=rule.hours), timedelta(hours=rule.warn_hours))

    def run(self, ended: threading.Event) -> None:
        """Look until the event; errors are logged, and nothing is stopped meanwhile."""
        while not ended.wait(EVERY):
            try:
                self.look(self.services.clock())
            except ApiError as refused:
                log.warning("idle workbenches: %s", refused)
            except Exception:
                log.exception("idle workbenches")

    def look(self, now: datetime) -> None:
        """Look once."""
        signs = self.db.heartbeats.list()
        watched = [
            pair
            for name in self.services.config.clusters
            for pair in self.db.workbenches.idle_candidates(name)
        ]
        seen = _fresh(signs, WATCH, now)
        self.db.heartbeats.record(WATCH, now, {"workbenches": len(watched)})
        if not seen or (self._has_jump() and not _fresh(signs, JUMP, now)):
            # Who was at work meanwhile no one has seen: the time of all begins again.
            for run, _ in watched:
                self.db.workbenches.record_activity(run.definition, now)
            return
        busy = self._busy([run for run, _ in watched])
        for run, bench in watched:
            try:
                self._step(run, bench, idle.step(run, bench, self.rule, now, busy=busy.get(run.id)), now)
            except Exception:
                # It concerns one workbench; where the database is unreachable, each says so.
                log.exception("workbench %s of %s", run.name, run.owner)

    def _has_jump(self) -> bool:
        config = self.services.config.workbenches
        return config is not None and config.jump is not None

    def _busy(self, runs: Sequence[Run]) -> Mapping[str, bool]:
        if not runs:
            return {}
        try:
            return self.uses(runs)
        except (OSError, ValueError, KeyError, TypeError, httpx.HTTPError) as error:
            log.warning("what workbenches use is not known, none is stopped: %s", type(error).__name__)
            return {}

    def _step(self, run: Run, bench: Workbench, what: Step, now: datetime) -> None:
        match what:
            case Step.ACTIVE if bench.warned is not None or now - idle.last_seen(run, bench) >= SELDOM:
                self.db.workbenches.record_activity(run.definition, now)
            case Step.WARN:
                if bench.warned is not None:
                    # Of an earlier stretch, after which somebody was at work.
                    self.db.workbenches.record_activity(run.definition, idle.last_seen(run, bench))
                self.db.workbenches.warn(run.id, now, now + self.rule.warning)
            case Step.STOP:
                if not self.db.workbenches.stop_idle(run.id, now, bench, by=BY):
                    # Its user came in while it was found out what the others use.
                    return
                log.info("workbench %s of %s is stopped: idle", run.name, run.owner)
                self.services.audit(
                    "ava", "workbenches.idle", f"run {run.id}", "done", "", {"owner": run.owner}
                )


class PrometheusUses:
    """What runs use, by the site's Prometheus; the first server that answers is believed."""

    def __init__(self, servers: Sequence[LogStore], rule: Idle) -> None:
        self.servers, self.rule = servers, rule

    def __call__(self, runs: Iterable[Run]) -> Mapping[str, bool]:
        """Return of each run that is measured whether it is busy; one with GPUs is only where those are measured too."""
        wanted = list(runs)
        cpu = {pod.partition("-")[0]: cores for pod, cores in self._ask(CPU, "pod_name").items()}
        gpu = self._ask(GPU, "run") if any(run.asks.gpu for run in wanted) else {}
        found: dict[str, bool] = {}
        for run in wanted:
            cores, percent = cpu.get(run.id), gpu.get(run.id) if run.asks.gpu else 0.0
            busy = (cores or 0.0) >= self.rule.cpu_cores or (percent or 0.0) >= self.rule.gpu_percent
            if busy or (cores is not None and percent is not None):
                found[run.id] = busy
        return found

    def _ask(self, query: str, label: str) -> dict[str, float]:
        """Return the values of an instant query by a label; OSError where no server answers."""
        why = "no Prometheus is known"
        for server in self.servers:
            try:
                answer = client(server).post(
                    "/api/v1/query", data={"query": query, "time": f"{time.time():.3f}"}
                )
                answer.raise_for_status()
                rows = answer.json()["data"]["result"]
                found = {str(r["metric"][label]): float(r["value"][1]) for r in rows if label in r["metric"]}
                return {name: value for name, value in found.items() if math.isfinite(value)}
            except (httpx.HTTPError, ValueError, KeyError, TypeError, OSError) as error:
                why = f"{server.name}: {type(error).__name__}"
        raise OSError(why)


def _fresh(signs: Mapping[str, tuple[datetime, object]], part: str, now: datetime) -> bool:
    """Return whether a part has given a sign lately; one of the future is none."""
    at = signs[part][0] if part in signs else None
    return at is not None and timedelta() <= now - at <= idle.GAP


def watch(context: Context) -> IdleWatcher | None:
    """Return what looks after a site's idle workbenches; None where the site stops none."""
    config = context.config.workbenches
    if config is None or config.idle is None:
        return None
    return IdleWatcher(context, config.idle, PrometheusUses(context.config.prometheus, config.idle))
