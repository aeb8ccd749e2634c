"""The report as one HTML page that needs nothing beside it (raw outputs are linked, not embedded)."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from avadm import __version__
from avadm_acceptance.report import charts, text
from avadm_acceptance.report.text import Language
from avadm_validation.protocol.model import Report, Verdict


def render(report: Report, language: Language = "en") -> str:
    """Return the page as HTML, titles and targets in a language."""
    environment = Environment(
        loader=PackageLoader("avadm_acceptance.report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    plots = {
        check.id: [
            (lines[0].group, charts.lines(lines, f"{check.id}-{i}"))
            for i, lines in enumerate(charts.groups([s for s in check.series if s.points]))
        ]
        for check in report.checks
    }
    return environment.get_template("report.html.j2").render(
        report=report,
        language=language,
        plots=plots,
        overview=charts.overview(report),
        text=text,
        Verdict=Verdict,
        meaning=text.MEANING,
        version=__version__,
    )


def write(report: Report, path: Path, language: Language = "en") -> Path:
    """Write the page and return its path."""
    path.write_text(render(report, language), encoding="utf-8")
    return path
