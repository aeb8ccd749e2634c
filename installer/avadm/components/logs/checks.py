"""Logs: stores, the shipper of each node, what waits and is lost, and whether anybody looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.checks.metric_age import late
from avadm.components.logs.component import SHIPPER as LOG_SHIPPER
from avadm.components.logs.component import STORE as LOG_STORE
from avadm.findings import Finding

OK = 200
FULL_MIB = 512
"""Free MiB below which a store takes nothing; log_store_free_mib's default."""
WATCH_LATE_S = 600.0
"""Seconds since a store's lines were last looked at, as the alert LogWatchStale; that is done each minute."""
COUNT_LATE_S = 300.0
"""Seconds since a shipper was last asked what it has sent; that is done each half minute."""
FRESH_S = 90.0
"""Seconds after its start in which the last count may be of before it."""
MANY = 10000
"""Lines that wait, as the alert LogShipperBehind."""


def _store(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    health = data["health"]
    if health["status"] != OK:
        yield bad(f"{health['url']}: {health['said'] or 'HTTP ' + str(health['status'])}")


def _disk(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    free, watch = data["free_mib"], data["watch"]
    refused = not late(watch, WATCH_LATE_S) and watch["values"].get("avadm_log_store_read_only", {}).get("")
    if refused or free < FULL_MIB:
        yield bad(
            f"{free} MiB are free: the store takes no more lines; nodes keep them while their buffers last"
        )
    elif free < 2 * FULL_MIB:
        yield warn(f"{free} MiB are free; below {FULL_MIB} the store takes no more lines")


def _watch(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    if words := late(data["watch"], WATCH_LATE_S):
        yield warn(
            f"figures of what the logs say: {words}: new errors and known troubles are not reported from here"
        )


def _shipper(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    unit, counts = data["unit"], data["counts"]
    since = unit["active_s"]
    if unit["active"] != "active":
        result = f", {unit['result']}" if unit["result"] not in ("", "success") else ""
        yield bad(
            f"it is {unit['active']} ({unit['sub']}{result}): this node sends no logs; its journal keeps them"
        )
    elif _up(counts) == 0 and since > FRESH_S and not late(counts, COUNT_LATE_S):
        yield bad("it runs and does not answer who asks what it has sent")


def _up(counts: Any) -> Any:
    return counts["values"].get("avadm_log_shipper_up", {}).get("")


def _sent(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    counts, since = data["counts"], data["unit"]["active_s"]
    if words := late(counts, COUNT_LATE_S):
        yield warn(
            f"figures of what was sent: {words}",
            remedy="`systemctl status avadm-log-shipper-stats.timer` and `journalctl -u avadm-log-shipper-stats -e` there.",
        )
        return
    hours = f" of {since / 3600:.1f} h ago" if since is not None else ""
    for store, lines in sorted(counts["values"].get("avadm_log_shipper_dropped_total", {}).items()):
        if lines > 0:
            yield warn(f"since its start{hours} it has lost {lines:.0f} lines that {store} will never get")
    for store, lines in sorted(counts["values"].get("avadm_log_shipper_waiting", {}).items()):
        if lines > MANY:
            yield warn(f"{lines:.0f} lines wait for {store}")


_check = partial(Check, topic="logs", requirement="I8")


CHECKS = (
    _check(
        "logs-store",
        "a log store that does not answer",
        ("log_store",),
        _store,
        roles=(LOG_STORE,),
        remedy="`systemctl status avadm-log-store` and `journalctl -u avadm-log-store -e` there; nodes keep "
        "what they have for it.",
        good="it answers",
    ),
    _check(
        "logs-disk",
        "a log store whose disk is full, or nearly",
        ("log_store",),
        _disk,
        roles=(LOG_STORE,),
        remedy="Free space on that disk, or lower components.logs.disk_gib or retention_days and `avadm apply logs`: the oldest "
        "days go.",
        good="there is room",
    ),
    _check(
        "logs-watch",
        "the log watcher does not run",
        ("log_store",),
        _watch,
        roles=(LOG_STORE,),
        remedy="`systemctl list-timers avadm-log-watch.timer` and `journalctl -t avadm-log-watch -e` there.",
        good="looked at within ten minutes",
    ),
    _check(
        "logs-shipper",
        "a node that sends no logs",
        ("log_shipper",),
        _shipper,
        roles=(LOG_SHIPPER,),
        remedy="`systemctl status avadm-log-shipper` and `journalctl -u avadm-log-shipper -e` there; what the "
        "journal kept is sent "
        "when it runs.",
        good="it runs",
    ),
    _check(
        "logs-lost",
        "lines of a node that wait for a store, or are lost to it",
        ("log_shipper",),
        _sent,
        roles=(LOG_SHIPPER,),
        remedy="See whether that store answers (logs-store, logs-disk) and the network to it; raise "
        "components.logs.buffer_mib where "
        "it was away for longer than the buffer lasts. The count of lost lines begins again with `systemctl restart "
        "avadm-log-shipper`.",
        good="nothing is lost, little waits",
    ),
)
