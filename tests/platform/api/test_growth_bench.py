"""bench/ava_growth.py: it measures what it says on a small room, and judges growth by ratios."""

import pytest

from bench import ava_growth


@pytest.mark.slow
def test_a_small_room_is_measured_without_a_failed_request():
    found = ava_growth.measure(10, rate=5, seconds=1)
    assert (found["users"], found["finished_runs"], found["api_failed"]) == (10, 1000, {})
    assert set(ava_growth.ASKED) <= set(found)
    assert all(found[name] > 0 for name in (*ava_growth.ASKED, "api_p99_ms", "api_memory_mib"))


@pytest.mark.parametrize(("large", "code"), [(1.0, 0), (4.9, 0), (5.1, 1)])
def test_what_grows_with_what_is_finished_ends_badly(monkeypatch, capsys, large, code):
    rooms = iter(
        [
            {"users": 1, "api_failed": {}, "api_p99_ms": 1.0},
            {"users": 10, "api_failed": {}, "api_p99_ms": large},
        ]
    )
    monkeypatch.setattr(ava_growth, "measure", lambda *given: next(rooms))
    assert ava_growth.main([]) == code
    assert str(large) in capsys.readouterr().out


def test_a_failed_request_ends_badly(monkeypatch):
    monkeypatch.setattr(
        ava_growth, "measure", lambda *given: {"users": 1, "api_failed": {"start: 500": 1}, "api_p99_ms": 1.0}
    )
    assert ava_growth.main([]) == 1
