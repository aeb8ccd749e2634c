"""Plots of a report as inline SVG, drawn by matplotlib without a display."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter

from avadm_acceptance.report import text
from avadm_validation.protocol.model import Metric, Report, Series, Verdict

# Okabe-Ito: distinguished by readers with any colour vision, and in grey print by the markers.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#b8a400"]
MARKERS = "osD^vPX*"
VERDICT_COLOURS = {
    Verdict.PASS: "#1a7f37",
    Verdict.FAIL: "#c62828",
    Verdict.INCONCLUSIVE: "#b26a00",
    Verdict.BLOCKED: "#6a3fb5",
    Verdict.PROJECTED: "#0b6bcb",
    Verdict.EXCEPTED: "#5b6f8f",
    Verdict.NOT_RUN: "#6b7280",
}
_REFERENCE = re.compile(r"(?:url\(|href=\")#([^)\"]+)")
_ID = re.compile(r' id="([^"]+)"')
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: small, searchable, the page's own font
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8b949e",
    "axes.grid": True,
    "grid.color": "#e5e7eb",
    "legend.frameon": False,
}


def _svg(figure: Figure, salt: str) -> str:
    """Return a figure as an SVG element; the salt keeps ids of several plots on one page apart."""
    out = io.StringIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": salt}):
        FigureCanvasSVG(figure).print_svg(out, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # Several plots stand on one page: drop ids that nothing refers to (figure_1, line2d_3 … in each);
    # those that are referred to are hashes of content and salt.
    referred = set(_REFERENCE.findall(svg))
    return _ID.sub(lambda m: m[0] if m[1] in referred else "", svg)


def groups(series: Sequence[Series]) -> list[list[Series]]:
    """Return the lines of each picture together, in the order of their first appearance."""
    order = {s.group: i for i, s in reversed(list(enumerate(series)))}
    ordered = sorted(series, key=lambda s: order[s.group])
    return [list(lines) for _, lines in groupby(ordered, key=lambda s: s.group)]


def lines(series: Sequence[Series], salt: str) -> str:
    """Return one picture: the lines of one group over time, or scaling with a count."""
    first = series[0]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.2, 2.9), layout="constrained")
        axes = figure.add_subplot()
        for i, line in enumerate(series):
            xs, ys = [p[0] for p in line.points], [p[1] for p in line.points]
            mark = MARKERS[i % len(MARKERS)] if line.kind == "scaling" or len(xs) < 40 else ""
            colour = COLOURS[i % len(COLOURS)]
            axes.plot(xs, ys, color=colour, marker=mark, markersize=4, linewidth=1.6, label=line.name)
        axes.set_xlabel(f"{first.x_label} [{first.x_unit}]" if first.x_unit else first.x_label)
        axes.set_ylabel(f"{first.y_label} [{first.y_unit}]" if first.y_unit else first.y_label)
        if first.log_x:
            axes.set_xscale("log")
        elif first.kind == "scaling":
            axes.set_xticks(sorted({p[0] for line in series for p in line.points}))
        if first.log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
        plain = FuncFormatter(lambda x, _: f"{x:g}")
        axes.xaxis.set_major_formatter(EngFormatter(sep=" ") if first.log_x else plain)
        if len(series) > 1:
            figure.legend(loc="outside upper center", ncols=min(4, len(series)), fontsize=9)
    return _svg(figure, salt)


def _judged(report: Report) -> list[tuple[str, Metric, float]]:
    found = [(c.id, m, text.margin(m)) for c in report.checks for m in c.metrics]
    return [(check, metric, margin) for check, metric, margin in found if margin is not None]


def overview(report: Report) -> str | None:
    """Return every judged metric against its threshold (1 = threshold, right of it is better)."""
    rows = _judged(report)
    if not rows:
        return None
    with mpl.rc_context({**_STYLE, "axes.grid.axis": "x"}):
        figure = Figure(figsize=(9.6, 0.9 + 0.3 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        for y, (_, metric, margin) in enumerate(reversed(rows)):
            colour = VERDICT_COLOURS[metric.verdict or Verdict.NOT_RUN]
            if metric.ci95 and metric.mean and min(metric.ci95) > 0:
                ends = sorted(
                    margin * (v / metric.mean if margin_up(metric) else metric.mean / v) for v in metric.ci95
                )
                axes.plot(ends, [y, y], color=colour, linewidth=5, alpha=0.35, solid_capstyle="round")
            axes.plot([margin], [y], "o", color=colour, markersize=6)
        axes.axvline(1.0, color="#111827", linewidth=1.2)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
        axes.xaxis.set_minor_formatter(FuncFormatter(lambda x, _: f"{x:g}×" if x in _MINOR else ""))
        axes.set_yticks(range(len(rows)), [f"{check}  {m.title}" for check, m, _ in reversed(rows)])
        axes.set_xlabel("measured against threshold (right of the line is better; bar: 95 % interval)")
        axes.set_ylim(-0.7, len(rows) - 0.3)
    return _svg(figure, "overview")


_MINOR = {0.5, 2.0, 5.0, 20.0}


def margin_up(metric: Metric) -> bool:
    """Return whether a larger value of the metric is better."""
    return metric.criterion is not None and metric.criterion.op == ">="
