"""Reports: one ``report.json`` shown as HTML (self-contained), Markdown and JUnit."""

from __future__ import annotations

from pathlib import Path

from avadm_acceptance.report.text import Language
from avadm_validation.protocol.model import Report


def write(report: Report, folder: Path, language: Language = "en") -> list[Path]:
    """Write every form of a report into a folder, HTML and Markdown in a language; return the paths, JSON then HTML first."""
    from avadm_acceptance.report import html, junit, markdown

    return [
        report.dump(folder),
        html.write(report, folder / "report.html", language),
        markdown.write(report, folder / "report.md", language),
        junit.write(report, folder / "junit.xml"),
    ]
