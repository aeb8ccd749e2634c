"""What a reader is told at the end of an acceptance run."""

from types import SimpleNamespace

import pytest

from avadm.cli.accept import undecided


@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        ({"A-FS1": "PASS", "A-BD1": "INCONCLUSIVE"}, "--check A-BD1"),
        ({"A-FS1": "FAIL", "A-BD1": "INCONCLUSIVE"}, ""),  # what failed comes first
        ({"A-FS1": "PASS"}, ""),
    ],
)
def test_what_could_not_be_decided_is_told_apart_from_what_failed(verdicts, told):
    text = undecided(SimpleNamespace(checks=[SimpleNamespace(id=i, verdict=v) for i, v in verdicts.items()]))
    assert told in text
    assert bool(text) == bool(told)
    assert ("Nothing failed" in text) == bool(told)
