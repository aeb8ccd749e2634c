from typing import Any

import pytest

from avadm.remote.events import Event, Kind
from avadm.remote.redact import Redactor
from avadm.remote.translate import TAIL, translate


def event_of(event: str, res: dict[str, Any] | None = None, stdout: str = "", **data: object) -> Event | None:
    body = {"host": "n1", "role": "base", "task": "Do it", "duration": 1.23456, "res": res, **data}
    return translate(
        {"event": event, "event_data": body, "stdout": stdout}, "base", Redactor(["s3cret-value"]), 5.0
    )


@pytest.mark.parametrize(
    ("name", "res", "more", "kind"),
    [
        ("runner_on_ok", {"changed": False}, {}, Kind.OK),
        ("runner_on_ok", {"changed": True}, {}, Kind.CHANGED),
        ("runner_on_failed", {"msg": "x"}, {}, Kind.FAILED),
        ("runner_on_failed", {"msg": "x"}, {"ignore_errors": True}, Kind.IGNORED),
        ("runner_on_unreachable", {"msg": "x"}, {}, Kind.UNREACHABLE),
        ("runner_on_skipped", None, {}, Kind.SKIPPED),
        ("runner_on_start", None, {}, Kind.HOST_START),
    ],
)
def test_results_become_their_kind(name: str, res: Any, more: dict[str, Any], kind: Kind) -> None:
    event = event_of(name, res, **more)
    assert event is not None
    assert (event.kind, event.host, event.task, event.seconds) == (kind, "n1", "base : Do it", 1.235)


@pytest.mark.parametrize(
    ("res", "message"),
    [
        ({"msg": "No package"}, "No package"),
        ({"msg": "non-zero return code", "rc": 3, "stderr": "a\nit broke\n"}, "exit status 3: it broke"),
        ({"msg": "non-zero return code", "rc": 1, "stdout": "", "stderr": ""}, "exit status 1"),
        (
            {
                "msg": "All items completed",
                "results": [{"item": "a"}, {"item": "b", "failed": True, "msg": "no"}],
            },
            "b: no",
        ),
        (
            {"censored": "the output has been hidden"},
            "The result is hidden because secrets pass there (no_log).",
        ),
        ({}, "failed without a message"),
    ],
)
def test_the_message_says_what_went_wrong(res: dict[str, Any], message: str) -> None:
    event = event_of("runner_on_failed", res)
    assert event is not None
    assert event.message == message


def test_every_text_is_redacted_before_it_is_cut() -> None:
    long = "s3cret-value" + "x" * (TAIL - 5)
    event = event_of("runner_on_failed", {"msg": "is s3cret-value", "stdout": long, "stderr": "s3cret-value"})
    assert event is not None
    assert "cret-value" not in repr(event)
    assert len(event.stdout) <= TAIL


def test_stats_are_per_host() -> None:
    event = event_of("playbook_on_stats", processed={"a": 1, "b": 1}, ok={"a": 2}, dark={"b": 1}, failures={})
    assert event is not None
    assert event.stats["a"]["ok"] == 2
    assert event.stats["b"]["unreachable"] == 1


def test_lines_outside_of_events_are_kept_without_colours() -> None:
    event = event_of("verbose", stdout="\x1b[0;31mERROR! no such role\x1b[0m")
    assert event is not None
    assert (event.kind, event.message) == (Kind.LOG, "ERROR! no such role")
    assert event_of("verbose", stdout="  \n") is None
    assert event_of("playbook_on_include") is None


def test_an_event_survives_json() -> None:
    event = event_of("runner_on_failed", {"msg": "x", "stderr": "y"})
    assert event is not None
    assert Event.from_dict(event.as_dict()) == event
