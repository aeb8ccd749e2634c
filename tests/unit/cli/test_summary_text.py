import pytest

from avadm.cli.summary_text import headline


@pytest.mark.parametrize(
    ("result", "states", "wanted"),
    [
        ("good", {"A-FS1": "PASS", "A-BD1": "PROJECTED"}, "Accepted in 8 s: 2 checks"),
        ("good", {"CIS-1.1": "EXCEPTED"}, "Accepted in 8 s: 1 checks"),
        ("failed", {"CIS-1.1": "EXCEPTED", "CIS-1.2": "FAIL"}, "Not accepted after 8 s: CIS-1.2 FAIL."),
        ("failed", {"A-FS1": "PASS", "A-BD1": "FAIL"}, "Not accepted after 8 s: A-BD1 FAIL."),
        ("canceled", {"A-FS1": "PASS"}, "Stopped after 8 s"),
    ],
)
def test_an_acceptance_run_is_told_by_its_verdicts(result: str, states: dict[str, str], wanted: str) -> None:
    text = headline(
        {
            "verb": "accept",
            "result": result,
            "seconds": 8,
            "changed": 0,
            "hosts": {},
            "failures": [],
            "phases": [{"name": n, "state": s} for n, s in states.items()],
        }
    )
    assert text.startswith(wanted)
    assert "playbook" not in text
