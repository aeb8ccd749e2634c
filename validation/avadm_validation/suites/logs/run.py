"""The logs suite: writes lines on every node, reads them in every store; one store is stopped and started again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.measuring.runner import Runner
from avadm_validation.measuring.schedule import Session
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.measuring.targets import LogTarget

LINES = 20
"""Lines of each node."""
WAIT_S = 60
"""Seconds until a line that is not there is missing."""
BACK_S = 180
"""The same for what waited on the nodes while a store was down."""
REMEDY = (
    "On the node: systemctl status avadm-log-shipper; on the store: systemctl status avadm-log-store, "
    "journalctl -u avadm-log-store -e; then `avadm apply logs`."
)


def _target(ctx: Context) -> LogTarget:
    if ctx.target.logs is None:
        raise MeasureError("the site keeps no logs")
    return ctx.target.logs


def _write(ctx: Context, part: str) -> tuple[str, list[str]]:
    """Write lines on every node; return their common word and the raw files that name each."""
    marker = f"{ctx.name}-{part}"
    # A line that the journal did not take is not named, and so not wanted: what is measured is the way from there.
    loop = (
        f'for n in $(seq {LINES}); do m="{marker} $(hostname) $n $(date +%s.%N)"; '
        'logger -t avadm-accept -- "$m" && echo "$m"; done'
    )
    ctx.step(f"{LINES} lines on {len(ctx.target.nodes)} nodes")
    return marker, ctx.everywhere(dict.fromkeys(ctx.target.nodes, loop), f"write-{part}", timeout=60)


def _read(ctx: Context, marker: str, stores: Sequence[str], wait_s: int) -> list[str]:
    """Return what each store has, raw files."""
    logs = _target(ctx)
    tool = (files("avadm_validation") / "tools" / "logread.py").read_text()
    wanted = LINES * len(ctx.target.nodes)
    raw = []
    for store in stores:
        job = {
            "url": logs.stores[store],
            "user": logs.user,
            "marker": marker,
            "wanted": wanted,
            "wait_s": wait_s,
        }
        program = f"import json\nJOB = json.loads({json.dumps(json.dumps(job))})\n{tool}"
        ctx.step(f"read {store}", seconds=wait_s)
        line = f"{shlex.quote(ctx.target.python)} -"
        result = ctx.rec.fleet.map({store: line}, timeout=wait_s + 60, stdin=program.encode())[store]
        path = ctx.rec.keep(result, f"read-{store}")
        ctx.must(result)
        if path is None:
            raise MeasureError(f"{store}: nothing was printed")
        raw.append(path)
    return raw


class Arrive:
    """Each node's lines are in each store within seconds."""

    ID = "A-LOG-ARRIVE"
    TITLE = ("Logs: each node's lines arrive in each store", "日志:各节点日志到达每个存储")
    NEEDS = ""

    def run(self, ctx: Context) -> Outcome:
        """Write on all nodes, read all stores."""
        wait_s = int(ctx.limit(WAIT_S))
        marker, written = _write(ctx, "arrive")
        inputs = {"wanted": written, "found": _read(ctx, marker, list(_target(ctx).stores), wait_s)}
        return Outcome(
            method=f"{LINES} lines by logger on each node; each store is read once a second for {wait_s} s",
            metrics=[
                metric(
                    "missing",
                    ("lines that a store lacks", "缺失行数"),
                    "lines",
                    "cluster",
                    [ctx.sample("log_missing", inputs)],
                ),
                metric(
                    "latest",
                    ("from being written to being found, the last line", "最晚到达时间"),
                    "s",
                    "cluster",
                    [ctx.sample("log_latest", inputs, wait_s=float(wait_s))],
                ),
            ],
            remedy=REMEDY,
        )


class Loss:
    """While one store is down the other has all lines, and when it is back it has them too."""

    ID = "A-LOG-LOSS"
    TITLE = ("Logs: nothing is lost with one store down", "日志:单个存储故障不丢日志")
    NEEDS = ""

    def run(self, ctx: Context) -> Outcome:
        """Stop one store, write on all nodes, read the others; start it again, read it."""
        logs = _target(ctx)
        down, *others = logs.stores
        if not others:
            raise MeasureError("there is one store alone: with it down nothing can be read")
        ctx.must(ctx.rec.run(down, f"systemctl stop {logs.unit}", "stop", timeout=60))
        try:
            marker, written = _write(ctx, "loss")
            meanwhile = _read(ctx, marker, others, int(ctx.limit(WAIT_S)))
        finally:
            ctx.tell(f"start the store on {down} again")
            started = ctx.rec.run(down, f"systemctl start {logs.unit}", "start", timeout=60)
        ctx.must(started)
        back_s = int(ctx.limit(BACK_S))
        after = _read(ctx, marker, [down], back_s)
        while_down = ctx.sample("log_missing", {"wanted": written, "found": meanwhile})
        back = ctx.sample("log_missing", {"wanted": written, "found": after})
        return Outcome(
            method=f"{logs.unit} stopped on {down}; {LINES} lines by logger on each node; the others read; "
            f"started, and read for up to {back_s} s",
            metrics=[
                metric(
                    "missing-down",
                    ("lines that the others lack", "故障期间缺失行数"),
                    "lines",
                    "cluster",
                    [while_down],
                ),
                metric(
                    "missing-back",
                    ("lines that it lacks when it is back", "恢复后缺失行数"),
                    "lines",
                    "cluster",
                    [back],
                ),
            ],
            remedy=REMEDY,
        )


CHECKS: tuple[Check, ...] = (Arrive(), Loss())
BESIDE: tuple[tuple[Check, ...], ...] = ((CHECKS[1],),)
"""The loss of a store: what is judged is that each line is there, and not when."""


@contextmanager
def session(runner: Runner, only: Sequence[str] = ()) -> Iterator[Session]:
    """Judge both, or those named; the loss of a store is left out where it is the only one."""
    logs = runner.target.logs
    chosen = [check for check in CHECKS if not only or check.ID in only]
    if not only and logs is not None and len(logs.stores) == 1:
        chosen = [check for check in chosen if check.ID != Loss.ID]
        runner.left.append(f"{Loss.ID} was left out: the site has no second store of logs.")
    yield Session(lambda check: runner.one(check, {}), chosen, BESIDE)


SUITE = Suite(
    checks=CHECKS,
    beside=BESIDE,
    prefix="A-LOG-",
    target="logs",
    open=session,
    lack=Lack(
        check="no-logs",
        needs="a site that keeps logs",
        key="components",
        found="no components.logs",
        wanted="components.logs with two stores",
        remedy="Name two nodes in components.logs.stores and apply.",
    ),
)
