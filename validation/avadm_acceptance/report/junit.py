"""The report as JUnit XML, for machines that collect test results."""

from __future__ import annotations

from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from avadm.checks.junit import clean
from avadm.findings import Severity
from avadm_acceptance.report import text
from avadm_acceptance.report.verdicts import SEVERITY
from avadm_validation.protocol.model import CheckResult, Report, Verdict

_RESULT = {Severity.ERROR: Failure, Severity.UNKNOWN: Error, Severity.INFO: Skipped}


def _case(report: Report, check: CheckResult) -> TestCase:
    case = TestCase(f"{check.id} {check.title}", f"{report.site}.{report.suite}", check.seconds)
    if check.verdict is not Verdict.PASS:
        message = "; ".join(check.reasons) or text.MEANING[check.verdict]
        case.result = [
            _RESULT[SEVERITY[check.verdict]](clean(f"{check.verdict.value}: {message}"), check.verdict.value)
        ]
    measured = text.number(check.measured, check.unit)
    case.system_out = (
        f"measured {measured} {text.interval(check.ci95, check.unit)}, "
        f"threshold {text.wanted(check.op, check.threshold, check.unit)}, class {check.class_}"
    )
    return case


def write(report: Report, path: Path) -> Path:
    """Write junit.xml and return its path."""
    suite = TestSuite(f"avadm accept {report.suite}")
    for key in ("site", "profile", "effort", "git_commit", "config_hash"):
        suite.add_property(key, str(getattr(report, key)))
    suite.add_property("class", report.class_)
    for check in report.checks:
        suite.add_testcase(_case(report, check))
    xml = JUnitXml("avadm")
    xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call]
    xml.write(str(path), pretty=True)
    return path
