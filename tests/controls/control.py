"""One planted fault and what a check must make of it: a row of docs/negative-controls.md."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Control:
    """A negative control.

    Attributes:
        name: short name of the fault, the test's parameter where it has one.
        check: id of the check (A-FS1, P3, …).
        fault: what is planted, in words.
        verdict: what the check must say: FAIL, BLOCKED, or the preflight's finding.
        where: ``lab`` (make test-lab), ``lab, slow`` (make test-faults), or ``raw data`` (unit tests).
        test: the test that plants it, ``FILE::FUNCTION``.
    """

    name: str
    check: str
    fault: str
    verdict: str
    where: str
    test: str
