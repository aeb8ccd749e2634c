"""From ansible-runner's event dictionaries to our Event; anything not wanted becomes None."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from avadm.remote.events import Event, Kind
from avadm.remote.managed_resources import manages
from avadm.remote.redact import Redactor

TAIL = 4000
"""Characters of a failed command's output that are kept, from its end."""

_RESULT = {
    "runner_on_ok": Kind.OK,
    "runner_on_failed": Kind.FAILED,
    "runner_on_async_failed": Kind.FAILED,
    "runner_on_unreachable": Kind.UNREACHABLE,
    "runner_on_skipped": Kind.SKIPPED,
    "runner_on_start": Kind.HOST_START,
    "runner_retry": Kind.RETRY,
}
_TASKS = ("playbook_on_task_start", "playbook_on_handler_task_start")
# Lines outside of any event: warnings, and errors before the first play (syntax, inventory, vault password).
_LINES = ("verbose", "warning", "system_warning", "error", "deprecated")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_COUNTS = {
    "ok": "ok",
    "changed": "changed",
    "failures": "failed",
    "dark": "unreachable",
    "skipped": "skipped",
    "rescued": "rescued",
    "ignored": "ignored",
}


def translate(
    raw: Mapping[str, Any], phase: str, redactor: Redactor, now: float | None = None
) -> Event | None:
    """Return the event that ansible-runner's dictionary tells, redacted; None for what is not used.

    Args:
        raw: the dictionary given to ansible-runner's event handler.
        phase: the phase that runs.
        redactor: masks secrets in every text.
        now: epoch seconds; the clock where absent.
    """
    name = raw.get("event", "")
    data = raw.get("event_data") or {}
    when = time.time() if now is None else now
    if name in _RESULT:
        return _result(_RESULT[name], data, phase, redactor, when)
    if name in _TASKS:
        return Event(when, phase, Kind.TASK_START, task=redactor.text(_task(data)))
    if name == "playbook_on_stats":
        return Event(when, phase, Kind.STATS, stats=_stats(data))
    if name == "playbook_on_no_hosts_remaining":
        return Event(when, phase, Kind.NO_HOSTS_LEFT)
    if name in _LINES:
        text = _ANSI.sub("", raw.get("stdout") or "").strip()
        return Event(when, phase, Kind.LOG, message=redactor.text(text)) if text else None
    return None


def _result(kind: Kind, data: Mapping[str, Any], phase: str, redactor: Redactor, when: float) -> Event:
    res = data.get("res") or {}
    seconds = data.get("duration")
    if kind is Kind.OK and res.get("changed"):
        kind = Kind.CHANGED
    if kind is Kind.FAILED and data.get("ignore_errors"):
        kind = Kind.IGNORED
    message = stdout = stderr = ""
    if kind in (Kind.FAILED, Kind.IGNORED, Kind.UNREACHABLE):
        message = redactor.text(_message(res))
        stdout = _tail(res, "stdout", redactor) or _tail(res, "module_stdout", redactor)
        stderr = _tail(res, "stderr", redactor) or _tail(res, "module_stderr", redactor)
        stderr = stderr or _tail(res, "exception", redactor)
    elif kind is Kind.RETRY:
        message = f"attempt {res.get('attempts', '?')} of {res.get('retries', '?')}"
    action = str(data.get("resolved_action") or data.get("task_action") or "")
    kept = manages(action, _task(data), res) if kind in (Kind.OK, Kind.CHANGED) else ()
    return Event(
        when,
        phase,
        kind,
        host=data.get("host"),
        task=redactor.text(_task(data)),
        seconds=round(seconds, 3) if isinstance(seconds, int | float) else None,
        message=message,
        stdout=stdout,
        stderr=stderr,
        manages=kept,
    )


def _task(data: Mapping[str, Any]) -> str:
    role, task = data.get("role"), str(data.get("task") or data.get("name") or "?")
    return f"{role} : {task}" if role and not task.startswith(f"{role} : ") else task


def _message(res: Mapping[str, Any]) -> str:
    """Return the error as one text: the module's message, or those of the items that failed."""
    if "censored" in res:
        return "The result is hidden because secrets pass there (no_log)."
    bad = [r for r in res.get("results", []) if isinstance(r, Mapping) and r.get("failed")]
    if bad:
        texts = [f"{r.get('item', '')}: {_message(r)}".lstrip(": ") for r in bad[:5]]
        return "; ".join(texts) + (f" (and {len(bad) - 5} more)" if len(bad) > 5 else "")
    message = str(res.get("msg") or res.get("reason") or res.get("module_stderr") or "").strip()
    if "rc" in res and message in ("non-zero return code", ""):
        last = _last_line(res.get("stderr") or res.get("stdout") or "")
        message = f"exit status {res['rc']}" + (f": {last}" if last else "")
    return message or "failed without a message"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _tail(res: Mapping[str, Any], key: str, redactor: Redactor) -> str:
    value = res.get(key)
    # Redact before cutting: half a secret would no longer be recognised.
    return redactor.text(str(value))[-TAIL:].strip() if value else ""


def _stats(data: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    hosts = set(data.get("processed") or {})
    return {
        host: {ours: int((data.get(theirs) or {}).get(host, 0)) for theirs, ours in _COUNTS.items()}
        for host in sorted(hosts)
    }
