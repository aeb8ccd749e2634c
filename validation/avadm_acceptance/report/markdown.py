"""The report as Markdown, for a wiki or a ticket."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from avadm_acceptance.report import text
from avadm_acceptance.report.text import Language
from avadm_validation.protocol.model import Report


def _cell(value: object) -> str:
    """Return text that cannot break a table's row."""
    return str(value).replace("|", "\\|").replace("\n", " ")


def render(report: Report, language: Language = "en") -> str:
    """Return the report as Markdown, titles and targets in a language."""
    # Markdown is not HTML: escaping as HTML would spoil "≥" and "&"; cells are escaped by their own filter.
    environment = Environment(  # noqa: S701
        loader=PackageLoader("avadm_acceptance.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = _cell
    return environment.get_template("report.md.j2").render(report=report, text=text, language=language)


def write(report: Report, path: Path, language: Language = "en") -> Path:
    """Write report.md and return its path."""
    path.write_text(render(report, language), encoding="utf-8")
    return path
