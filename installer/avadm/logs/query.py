"""What is asked of the stores, in their language (LogsQL), and the lines that come back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

SEVERITIES = ("debug", "info", "notice", "warning", "err", "crit", "alert", "emerg")
"""As syslog names them (RFC 5424), the mildest first."""
WORDS = {"error": "err", "warn": "warning", "fatal": "crit", "critical": "crit", "panic": "emerg"}
"""What people call them besides."""
_NAME = re.compile(r"[\w.*@:-]+")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log.

    Attributes:
        time: when it was written, UTC, as precise as its source tells (RFC 3339 text).
        message: its text; secrets are masked.
        host: node on which it was written.
        component: what wrote it: a unit's name without instance, or ``pod``.
        unit: systemd unit, or the log file's name.
        severity: one of SEVERITIES.
        namespace, pod, container: of a container's line; else "".
        stream: ``stdout`` or ``stderr`` of a container's line; else "".
        id: the same in every store; differs between any two lines of a host.
    """

    time: str
    message: str
    host: str = ""
    component: str = ""
    unit: str = ""
    severity: str = ""
    namespace: str = ""
    pod: str = ""
    container: str = ""
    stream: str = ""
    id: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Line:
        """Return the line that a store's row holds."""
        names = (
            "host",
            "component",
            "unit",
            "severity",
            "namespace",
            "pod",
            "container",
            "stream",
            "id",
        )
        rest = {name: str(row.get(name, "")) for name in names}
        return cls(str(row.get("_time", "")), str(row.get("_msg", "")), **rest)

    @property
    def key(self) -> tuple[str, ...]:
        """What two stores' copies of one line have in common, and no other line has."""
        return (self.host, self.id) if self.id else (self.host, self.time, self.unit, self.message)

    @property
    def nanoseconds(self) -> int:
        """When it was written, nanoseconds since 1970; 0 where the text is no time."""
        return nanoseconds(self.time)


def nanoseconds(text: str) -> int:
    """Return a time of RFC 3339 as nanoseconds since 1970; 0 where it is none."""
    match = re.fullmatch(r"(.{19})(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)", text)
    if not match:
        return 0
    try:
        whole = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
    except ValueError:
        return 0
    return int(whole.timestamp()) * 10**9 + int((match[2] or "").ljust(9, "0"))


def rfc3339(seconds: float) -> str:
    """Return seconds since 1970 as text, milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def severity(word: str) -> str:
    """Return a severity by its name or by what people call it.

    Raises:
        ValueError: there is none of that name.
    """
    found = WORDS.get(word.lower(), word.lower())
    if found not in SEVERITIES:
        raise ValueError(f"no severity {word!r}: {', '.join((*SEVERITIES, *WORDS))}")
    return found


@dataclass(frozen=True, slots=True)
class Query:
    """Which lines are wanted; what is empty does not matter.

    Attributes:
        host, component, unit, namespace, pod, container: exact, or with ``*`` at the end.
        severity: the mildest that is wanted.
        grep: text that the line holds, any case.
        since, until: seconds since 1970; until is exclusive.
        pods: several pods' exact names (a training's), besides `pod`.
    """

    host: str = ""
    component: str = ""
    unit: str = ""
    namespace: str = ""
    pod: str = ""
    container: str = ""
    severity: str = ""
    grep: str = ""
    since: float | None = None
    until: float | None = None
    pods: tuple[str, ...] = field(default=())

    def text(self) -> str:
        """Return the query in LogsQL.

        Raises:
            ValueError: a name holds what no name holds, or there is no such severity.
        """
        parts = [_window(self.since, self.until)]
        for name in ("host", "component", "unit", "namespace", "pod", "container"):
            if value := getattr(self, name):
                parts.append(f"{name}:={_matching(name, value)}")
        if self.pods:
            parts.append("pod:in(" + ",".join(json.dumps(_checked("pod", p)) for p in self.pods) + ")")
        if self.severity:
            worse = SEVERITIES[SEVERITIES.index(severity(self.severity)) :]
            parts.append("severity:in(" + ",".join(worse) + ")")
        if self.grep:
            wanted = json.dumps("(?i)" + re.escape(self.grep).replace(r"\ ", " "), ensure_ascii=False)
            parts.append(f"_msg:~{wanted}")
        return " ".join(parts)


def _window(since: float | None, until: float | None) -> str:
    if since is None and until is None:
        return "*"
    start = rfc3339(since) if since is not None else "1970-01-01T00:00:00Z"
    end = rfc3339(until) if until is not None else "2200-01-01T00:00:00Z"
    return f"_time:[{start}, {end})"


def _matching(name: str, value: str) -> str:
    """Return a value for an exact filter, or for one by its beginning: ``"value"*``."""
    checked = _checked(name, value)
    return json.dumps(checked.rstrip("*")) + ("*" if checked.endswith("*") else "")


def _checked(name: str, value: str) -> str:
    if not _NAME.fullmatch(value) or "*" in value.rstrip("*"):
        raise ValueError(
            f"no {name} is called {value!r}: letters, digits, '.', '_', '-', '@', ':', and * at the end"
        )
    return value
