"""Prometheus: what it does not reach, which alerts fire, whether its own data are well."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, warn
from avadm.findings import Finding

QUIET = ("none", "info", "")
SHOWN = 30


def _targets(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    # A pod asks to be scraped by itself: one that does not answer is its owner's.
    down = [row for row in data["down"] if row[0] != "pods"]
    for job, instance, error in down[:SHOWN]:
        yield warn(f"{job} of {instance}: {error}")


def _alerts(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for a in data["firing"][:SHOWN]:
        if a["severity"] not in QUIET:
            text = f"{a['name']}: {a['summary']}"
            yield (bad if a["severity"] == "critical" else warn)(text, a["node"] or "cluster", a["remedy"])


def _own(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    own = data["own"]
    for name, value in sorted(own.items()):
        if name.endswith("_total") and value > 0:
            yield warn(f"{name} is {value:g}")
    if own.get("prometheus_config_last_reload_successful", 1.0) == 0:
        yield warn(
            "it runs with an old configuration: the last one was refused",
            remedy="`promtool check config /etc/prometheus/prometheus.yml`.",
        )


def _replicas(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    able = [n.name for n in s.site.with_role("prometheus")]
    deaf = [n for n in able if s.part(n, "prometheus") is None]
    if len(able) > 1 and len(able) - len(deaf) == 1:
        yield bad(f"only {len(able) - len(deaf)} of {len(able)} answers", ", ".join(deaf))


_check = partial(Check, roles=("prometheus",), topic="monitoring", requirement="I2")


CHECKS = (
    _check(
        "prometheus-targets",
        "something that Prometheus does not reach",
        ("prometheus",),
        _targets,
        remedy="Look at that service on its node (`systemctl status`), and try `curl` on its port from the Prometheus node.",
        good="every target is up",
    ),
    _check(
        "alerts",
        "an alert that fires",
        ("prometheus",),
        _alerts,
        scope="site",
        remedy="docs/reference/generated/alerts.md has the remedy of each alert.",
        good="no warning, nothing critical",
    ),
    _check(
        "prometheus-storage",
        "trouble with Prometheus' own database or configuration",
        ("prometheus",),
        _own,
        remedy="See its log and the space on its disk; where data is damaged, move it away and let it start "
        "again: its twin has them.",
        good="whole",
    ),
    _check(
        "prometheus-replicas",
        "only one Prometheus replica runs",
        ("prometheus",),
        _replicas,
        scope="site",
        remedy="`systemctl start prometheus` on the other, and read its log.",
        good="as many as the site file has",
    ),
)
