"""Reports: one ``report.json`` shown as HTML (self-contained), Markdown and JUnit."""

from __future__ import annotations

from pathlib import Path

from avadm_validation.protocol.model import Report


def write(report: Report, folder: Path) -> list[Path]:
    """Write every form of a report into a folder; return the paths, JSON then HTML first."""
    from avadm.report import html, junit, markdown

    return [
        report.dump(folder),
        html.write(report, folder / "report.html"),
        markdown.write(report, folder / "report.md"),
        junit.write(report, folder / "junit.xml"),
    ]
