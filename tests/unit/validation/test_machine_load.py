"""The load of the machine during a run: looks, what they come to, and that a report cannot claim another one."""

import json

import pytest

from avadm_validation.measuring import machine
from avadm_validation.protocol.load import FILE, Look, between, parse, recent, words


def looks(*slowdowns, begin=100.0, every=5.0):
    return [
        Look(t=begin + i * every, slowdown=s, running=4, cpu=i * every, io=i * 1.0, memory=0)
        for i, s in enumerate(slowdowns)
    ]


def test_the_looks_of_the_time_and_the_one_before_are_used():
    found = between(looks(9, 1, 2, 3, 9), 104, 116)
    assert found.slowdown == 2  # of 1, 2 and 3
    assert (found.cpu, found.io, found.memory) == (1.0, 0.2, 0.0)


def test_one_slow_look_alone_is_no_peak():
    assert between(looks(1, 1, 7, 1, 1), 0, 200).peak == 3
    assert between(looks(1, 7, 7, 7, 1), 0, 200).peak == 7
    assert between(looks(8), 0, 200).peak == 8  # there is no other


def test_a_fast_machine_has_no_slowdown_below_one():
    found = between(looks(0.5, 0.5), 0, 200)
    assert (found.slowdown, found.peak) == (1, 1)


def test_without_looks_nothing_is_allowed_for():
    assert between([], 0, 10).peak == 1
    assert recent([], 0) == 1


def test_the_present_is_judged_by_the_last_look_where_there_is_no_newer():
    assert recent(looks(1, 1, 4), 109) == 4
    assert recent(looks(1, 1, 4), 500) == 4


def test_a_watch_looks_keeps_its_looks_and_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "EVERY_SECONDS", 0.01)
    assert machine.patience() == 1
    with machine.watched(tmp_path) as watch:
        load = watch.since(0)
        assert 1 <= machine.patience() <= machine.MAX_PATIENCE
    assert machine.patience() == 1
    kept = parse((tmp_path / FILE).read_text())
    assert len(kept) >= 2
    assert [x.t for x in kept] == sorted(x.t for x in kept)
    assert between(kept, load.began, load.ended) == load  # as verify computes it


def test_a_busy_machine_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_compute", lambda: machine._REFERENCE_MS * 3)
    with machine.watched(tmp_path) as watch:
        assert watch.since(0).slowdown == pytest.approx(3)
        assert machine.patience() == pytest.approx(3)
        assert "3.0 times slower" in words(watch.since(0))


def test_a_kernel_without_pressure_figures_is_no_error(monkeypatch):
    monkeypatch.setattr(machine, "Path", lambda *parts: _Absent())
    assert (machine._pressure("cpu"), machine._run_queue()) == (0.0, 0)


class _Absent:
    def read_text(self, encoding):
        raise FileNotFoundError


def test_every_line_is_one_look(tmp_path):
    line = json.dumps(looks(2)[0].model_dump())
    assert parse(line + "\n" + line + "\n") == looks(2) * 2
