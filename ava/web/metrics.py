"""What pods of a run use, from the site's Prometheus: the same figures as grafana's dashboards, bounded in number and time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from threading import BoundedSemaphore
from typing import Any

import httpx

from ava.services.config import LogStore
from ava.services.prometheus import client as _client

POINTS = 240
"""Of one line at most."""
FINEST = 15
"""Seconds between two points at least: Prometheus asks exporters no oftener."""
LINES = 16
"""Of one chart at most; of more pods the first ones by name."""
AT_ONCE = BoundedSemaphore(4)
"""Requests of all users: a Prometheus that hangs takes four threads and no more."""


class MetricsUnavailable(Exception):
    """No server has answered; the text says why."""


@dataclass(frozen=True, slots=True)
class Unit:
    """How figures are reported.

    Attributes:
        name: what stands behind a figure.
        factor: what Prometheus' values are multiplied by to be in it.
        least: the axis' upper end is no lower, so that next to nothing does not look like much.
    """

    name: str
    factor: float
    least: float


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Attributes:
        units: smallest first; figures are reported in the first one in which all are below 1024.
        label: which label names a line.
        most: upper end of the axis; None: by the values.
    """

    title: str
    query: str
    units: Sequence[Unit]
    label: str
    most: float | None = None


def _text(value: str) -> str:
    """Return a text as PromQL has it in quotation marks."""
    return json.dumps(value)


def charts(namespace: str, run: str, gpus: int, titles: Mapping[str, str]) -> list[Chart]:
    """Return the charts of a run; ``titles``: by ``gpu``, ``cpu``, ``memory``, in the reader's language."""
    pods = f'image!="",container_name!="POD",namespace={_text(namespace)},pod_name=~{_text(run + "-.+")}'
    found = [
        Chart(
            titles["cpu"],
            f"sum by (pod_name) (rate(container_cpu_usage_seconds_total{{{pods}}}[2m]))",
            [Unit("", 1, 0.1)],
            "pod_name",
        ),
        Chart(
            titles["memory"],
            f"sum by (pod_name) (container_memory_working_set_bytes{{{pods}}})",
            [Unit(" MiB", 2**-20, 16), Unit(" GiB", 2**-30, 1)],
            "pod_name",
        ),
    ]
    if gpus:
        # Recorded by Prometheus (installer/avadm/components/ava/alerts.yml); grafana's "GPUs by user" shows the same.
        own = f"max by (node, gpu) (run:gpu_utilization:percent{{run={_text(run)}}})"
        cards = f'label_join({own}, "card", " GPU ", "node", "gpu")'
        found.insert(0, Chart(titles["gpu"], cards, [Unit("%", 1, 100)], "card", 100))
    return found


def read(
    servers: Sequence[LogStore], wanted: Sequence[Chart], begin: datetime, end: datetime
) -> list[dict[str, Any]]:
    """Return the charts that have figures, as the page draws them; the first server that answers is believed.

    Raises:
        FiguresDown: none answers, or too many ask at the moment.
    """
    if not servers:
        return []
    if not AT_ONCE.acquire(timeout=1):
        raise MetricsUnavailable("too many ask at the moment")
    try:
        why = ""
        for server in servers:
            try:
                return [made for chart in wanted if (made := _chart(server, chart, begin, end))["series"]]
            except (httpx.HTTPError, ValueError, KeyError, OSError) as error:
                why = f"{server.name}: {type(error).__name__}"
        raise MetricsUnavailable(why)
    finally:
        AT_ONCE.release()


def _chart(server: LogStore, chart: Chart, begin: datetime, end: datetime) -> dict[str, Any]:
    first, last = int(begin.timestamp()), max(int(end.timestamp()), int(begin.timestamp()) + 1)
    step = max(FINEST, math.ceil((last - first) / POINTS))
    first -= first % step
    times = list(range(first, last + 1, step))
    asked = {"query": chart.query, "start": str(first), "end": str(last), "step": str(step)}
    answer = _client(server).post("/api/v1/query_range", data=asked)
    answer.raise_for_status()
    rows = answer.json()["data"]["result"]
    lines = sorted(rows, key=lambda row: str(row["metric"].get(chart.label, "")))[:LINES]
    known = {str(row["metric"].get(chart.label, "")): _known(row["values"]) for row in lines}
    highest = max((number for line in known.values() for number in line.values()), default=0)
    unit = next((one for one in chart.units if highest * one.factor < 1024), chart.units[-1])
    return {
        "title": chart.title,
        "unit": unit.name,
        "least": unit.least,
        "most": chart.most,
        "times": times,
        # A line that breaks off is no zero.
        "series": [
            {"name": name, "values": [_scaled(line.get(at), unit) for at in times]}
            for name, line in known.items()
        ],
    }


def _known(pairs: Sequence[Sequence[Any]]) -> dict[int, float]:
    """Return the values that there are by their times."""
    known: dict[int, float] = {}
    for at, value in pairs:
        with suppress(ValueError):
            if math.isfinite(number := float(value)):
                known[int(at)] = number
    return known


def _scaled(number: float | None, unit: Unit) -> float | None:
    return None if number is None else round(number * unit.factor, 4)
