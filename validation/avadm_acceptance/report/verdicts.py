"""Verdicts of acceptance as severities of the check framework."""

from __future__ import annotations

from avadm.findings import Severity
from avadm_validation.protocol.model import Verdict

SEVERITY = {
    Verdict.FAIL: Severity.ERROR,
    Verdict.INCONCLUSIVE: Severity.UNKNOWN,
    Verdict.BLOCKED: Severity.UNKNOWN,
    Verdict.PASS: Severity.INFO,
    Verdict.PROJECTED: Severity.INFO,
    Verdict.EXCEPTED: Severity.INFO,
    Verdict.NOT_RUN: Severity.INFO,
}
"""Neither INCONCLUSIVE nor BLOCKED is a pass or a measured fail."""
