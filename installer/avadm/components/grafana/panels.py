"""What the dashboards are made of: a few kinds of panels on grafana's grid of 24 columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

from grafanalib import core
from grafanalib._gen import DashboardEncoder

COLUMNS = 24
DATASOURCE = "${datasource}"
# Green up to the first step; grafana's own colour names.
GREEN, AMBER, RED = "green", "orange", "red"


@dataclass(frozen=True)
class Query:
    """One expression of a panel; ``legend`` is grafana's template of the series' name."""

    expr: str
    legend: str = ""
    instant: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel.

    Attributes:
        kind: ``stat``, ``bars`` (values by name, now), ``graph`` (over time) or ``table``.
        title: what it shows.
        queries: its expressions.
        unit: grafana's unit id, e.g. ``bytes``, ``percentunit``, ``iops``, ``s``.
        width: columns of 24; ``height``: grid rows.
        steps: (value from which on, colour), ascending.
        names: value to the text that is shown for it.
        note: the panel's help text.
    """

    kind: str
    title: str
    queries: Sequence[Query]
    unit: str = "short"
    width: int = 8
    height: int = 8
    steps: Sequence[tuple[float, str]] = ()
    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    note: str = ""
    stack: bool = False


class Look(TypedDict, total=False):
    """What a panel may say beside its title and queries; see Panel."""

    unit: str
    width: int
    height: int
    steps: Sequence[tuple[float, str]]
    names: dict[str, tuple[str, str]]
    note: str
    stack: bool


def graph(title: str, *queries: Query, **more: Unpack[Look]) -> Panel:
    """Return a panel of series over time."""
    return Panel("graph", title, queries, **more)


def stat(title: str, expr: str, **more: Unpack[Look]) -> Panel:
    """Return a panel of one number, a seventh of the width."""
    more.setdefault("width", 3)
    more.setdefault("height", 4)
    return Panel("stat", title, [Query(expr, instant=True)], **more)


def bars(title: str, expr: str, legend: str, **more: Unpack[Look]) -> Panel:
    """Return a panel of bars, one a series, of their values now."""
    return Panel("bars", title, [Query(expr, legend, instant=True)], **more)


def table(title: str, expr: str, **more: Unpack[Look]) -> Panel:
    """Return a table of the labels of an expression's series."""
    return Panel("table", title, [Query(expr, instant=True)], **more)


def dashboard(
    uid: str,
    title: str,
    note: str,
    panels: Sequence[Panel],
    variables: Sequence[str] = (),
    chosen: Mapping[str, str] | None = None,
) -> str:
    """Return a dashboard as JSON, panels laid from left to right, then down.

    Args:
        uid: its stable id, in its URL.
        title: its name.
        note: what it is for.
        panels: in reading order.
        variables: labels of the job ``node`` that the reader chooses by.
        chosen: further labels, each with the series that has it.
    """
    by = {**dict.fromkeys(variables, 'up{job="node"}'), **(chosen or {})}
    built, x, y, line = [], 0, 0, 0
    for number, panel in enumerate(panels, start=1):
        if x + panel.width > COLUMNS:
            x, y, line = 0, y + line, 0
        built.append(_build(panel, number, x, y))
        x, line = x + panel.width, max(line, panel.height)
    made = core.Dashboard(
        title=title,
        uid=uid,
        description=note,
        tags=["avadm"],
        timezone="browser",
        refresh="30s",
        schemaVersion=36,
        time=core.Time("now-3h", "now"),
        sharedCrosshair=True,
        links=[
            {"type": "dashboards", "title": "avadm", "tags": ["avadm"], "asDropdown": False, "keepTime": True}
        ],
        templating=core.Templating(list=[_datasource(), *(_variable(name, of) for name, of in by.items())]),
        panels=built,
    )
    data = json.loads(json.dumps(made.to_json_data(), cls=DashboardEncoder))
    return json.dumps(_without_nulls(data), indent=1, sort_keys=True) + "\n"


def _build(panel: Panel, number: int, x: int, y: int) -> core.Panel:
    targets = [
        core.Target(
            expr=q.expr,
            legendFormat=q.legend,
            refId=chr(ord("A") + i),
            instant=q.instant,
            format="table" if panel.kind == "table" else "time_series",
            datasource=DATASOURCE,
        )
        for i, q in enumerate(panel.queries)
    ]
    common = {
        "id": number,
        "title": panel.title,
        "description": panel.note,
        "dataSource": DATASOURCE,
        "targets": targets,
        "gridPos": core.GridPos(h=panel.height, w=panel.width, x=x, y=y),
    }
    if panel.kind == "graph":
        return core.TimeSeries(
            **common,
            unit=panel.unit,
            fillOpacity=30 if panel.stack else 5,
            showPoints="never",
            spanNulls=False,
            tooltipMode="multi",
            tooltipSort="desc",
            stacking={"mode": "normal", "group": "A"} if panel.stack else {"mode": "none"},
            valueMin=0,
        )
    if panel.kind == "table":
        return core.Table(
            **common,
            transformations=[
                {
                    "id": "organize",
                    "options": {"excludeByName": {"Time": True, "Value": True, "__name__": True}},
                }
            ],
        )
    options: dict[str, Any] = {
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "thresholds": {"mode": "absolute", "steps": _steps(panel)},
                "color": {"mode": "thresholds"},
                "mappings": _mappings(panel),
            },
            "overrides": [],
        },
        "options": {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}},
    }
    if panel.kind == "stat":
        options["options"] |= {"colorMode": "background", "graphMode": "none", "textMode": "value"}
        return core.Stat(**common, extraJson=options)
    if panel.unit == "percentunit":
        options["fieldConfig"]["defaults"]["max"] = 1
    options["options"] |= {"orientation": "horizontal", "displayMode": "basic"}
    return core.BarGauge(**common, extraJson=options)


def _steps(panel: Panel) -> list[dict[str, Any]]:
    # The first step's null (from minus infinity) must stay: it is what grafana asks for.
    return [
        {"color": GREEN, "value": None},
        *({"color": colour, "value": value} for value, colour in panel.steps),
    ]


def _mappings(panel: Panel) -> list[dict[str, Any]]:
    if not panel.names:
        return []
    return [{"type": "value", "options": {k: {"text": t, "color": c} for k, (t, c) in panel.names.items()}}]


def _datasource() -> core.Template:
    """Return the variable that chooses the replica: when one is down, the reader takes the other."""
    return core.Template(name="datasource", label="Prometheus", type="datasource", query="prometheus")


def _variable(name: str, of: str) -> core.Template:
    return core.Template(
        name=name,
        query=f"label_values({of}, {name})",
        dataSource=DATASOURCE,
        includeAll=True,
        multi=True,
        allValue=".*",
        default="All",
        refresh=2,
    )


def _without_nulls(data: object) -> object:
    """Return the data without nulls, which grafana takes as absent; a threshold's value stays."""
    if isinstance(data, dict):
        return {
            k: _without_nulls(v)
            for k, v in data.items()
            if v is not None or (k == "value" and "color" in data)
        }
    if isinstance(data, list):
        return [_without_nulls(v) for v in data]
    return data
