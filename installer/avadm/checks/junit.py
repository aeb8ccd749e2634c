"""A preflight as JUnit XML, for machines that collect test results: one case for each check and node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from avadm.checks.framework import Report
from avadm.checks.waivers import Waived
from avadm.findings import Finding, errors

# What XML 1.0 cannot hold (section 2.2): a tool's stderr may have colours in it.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(value: str) -> str:
    """Return a text without what XML cannot hold."""
    return _NOT_XML.sub("", value)


def _line(finding: Finding) -> str:
    wanted = f", wanted {finding.wanted}" if finding.wanted else ""
    return clean(
        f"{finding.severity}: {finding.what} {finding.where}: {finding.found}{wanted}. {finding.remedy}"
    )


def _case(name: str, group: str, stands: Sequence[Finding], waived: Sequence[Waived]) -> TestCase:
    """Return a case: failed by errors, skipped where its only findings are waived, else passed with warnings reported."""
    case = TestCase(name, group)
    lines = [_line(f) for f in stands]
    lines += [
        clean(f"waived by {w.waiver.who} until {w.waiver.until}: {w.waiver.why}: {_line(w.finding)}")
        for w in waived
    ]
    if bad := errors(list(stands)):
        case.result = [Failure(_line(f), f.check) for f in bad]
    elif waived and not stands:
        case.result = [Skipped(lines[0], "waived")]
    if lines:
        case.system_out = "\n".join(lines)
    return case


def write_junit(outcome: Report, path: Path) -> None:
    """Write the outcome; findings about no single node are a case named as the check.

    Raises:
        OSError: the file cannot be written.
    """
    xml = JUnitXml("avadm preflight")
    for check, findings in outcome.found.items():
        suite = TestSuite(check)
        waived = outcome.waived.get(check, [])
        for node in (*outcome.nodes, None):
            here = [f for f in findings if f.host == node]
            away = [w for w in waived if w.finding.host == node]
            if node is not None or here or away:
                suite.add_testcase(_case(node or check, f"{outcome.site}.{check}", here, away))
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    xml.write(str(path), pretty=True)
