import io

import pytest
from rich.console import Console

from avadm.cli.summary_text import _print_failure, headline
from avadm.engine.summary import Failure


@pytest.mark.parametrize(
    ("result", "states", "wanted"),
    [
        ("good", {"A-FS1": "PASS", "A-BD1": "PROJECTED"}, "Accepted in 8 s: 2 checks"),
        ("good", {"CIS-1.1": "EXCEPTED"}, "Accepted in 8 s: 1 check,"),
        ("failed", {"CIS-1.1": "EXCEPTED", "CIS-1.2": "FAIL"}, "Not accepted after 8 s: CIS-1.2 FAIL."),
        ("failed", {"A-FS1": "PASS", "A-BD1": "FAIL"}, "Not accepted after 8 s: A-BD1 FAIL."),
        ("canceled", {"A-FS1": "PASS"}, "Stopped after 8 s"),
    ],
)
def test_an_acceptance_run_is_reported_by_its_verdicts(result, states, wanted):
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


@pytest.mark.parametrize("log", ["", " | Its log ends: no such disk"])
def test_a_long_remedy_is_reported_whole_and_once(log: str) -> None:
    steps = "If most members are lost, restore a snapshot: " + "then look again; " * 40 + "done."
    message = f"The store is empty: {'why ' * 150}. Remedy: {steps}{log}"
    failure = Failure("etcd", "mast1", "Found", message)
    out = io.StringIO()
    _print_failure((vars_of(failure), ["mast1"]), Console(file=out, width=10_000))
    assert out.getvalue().count(steps) == 1
    assert "Remedy:" not in out.getvalue()
    assert failure.remedy == steps


def vars_of(failure: Failure) -> dict[str, str | None]:
    return {
        name: getattr(failure, name)
        for name in ("phase", "host", "task", "message", "stderr", "stdout", "remedy")
    }
