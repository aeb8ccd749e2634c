"""When checks are made: what needs a quiet machine alone, the rest side by side, everything put back at the end."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from avadm_validation import registry
from avadm_validation.measuring.schedule import Session, make

LIMIT_S = 10


class FakeRunner:
    """Counts what is at work at a time."""

    def __init__(self):
        self.at_work, self.seen, self.log = set(), {}, []
        self.lock = threading.Lock()

    def remove_tools(self):
        self.log.append("tools removed")

    @contextmanager
    def working(self, name):
        with self.lock:
            self.at_work.add(name)
            self.log.append(name)
            self._note()
        try:
            yield
        finally:
            with self.lock:
                self._note()
                self.at_work.discard(name)

    def _note(self):
        for one in self.at_work:
            self.seen.setdefault(one, set()).update(self.at_work - {one})


def opening(name, checks, beside, first=(), act=lambda check: None):
    """Return a suite of checks by their names; it notes when it is opened and put back."""
    known = {c: SimpleNamespace(ID=c) for c in checks}

    @contextmanager
    def open_(runner, only):
        def one(check):
            with runner.working(check.ID):
                act(check.ID)
            return SimpleNamespace(id=check.ID)

        runner.log.append(f"{name} opened")
        try:
            stages = [[known[c] for c in stage] for stage in beside]
            yield Session(
                one, list(known.values()), stages, [known[c] for c in first], [SimpleNamespace(id="pre")]
            )
        finally:
            runner.log.append(f"{name} put back")

    return open_


def meeting(*names):
    """Return an act of checks that continue once all of them are at work."""
    barrier = threading.Barrier(len(names))
    return lambda name: barrier.wait(LIMIT_S) if name in names else None


def test_checks_of_several_suites_that_may_be_are_made_at_the_same_time():
    act, runner = meeting("a2", "b2", "b3"), FakeRunner()
    make(runner, [
        (opening("a", ["a1", "a2"], [["a2"]], act=act), []),
        (opening("b", ["b1", "b2", "b3"], [["b2", "b3"]], act=act), []),
    ])  # fmt: skip
    assert runner.seen["a2"] == {"b2", "b3"}


def test_nothing_is_made_beside_a_check_that_needs_a_quiet_machine():
    runner, slow = FakeRunner(), lambda name: time.sleep(0.02)
    make(runner, [
        (opening("a", ["a1", "a2", "a3"], [["a2"], ["a3"]], act=slow), []),
        (opening("b", ["b1", "b2", "b3"], [["b2"]], act=slow), []),
    ])  # fmt: skip
    assert [runner.seen[c] for c in ("a1", "b1", "b3")] == [set(), set(), set()]


def test_stages_of_a_suite_follow_one_another():
    runner = FakeRunner()
    make(runner, [(opening("a", ["a1", "a2"], [["a1"], ["a2"]], act=lambda name: time.sleep(0.02)), [])])
    assert runner.seen == {"a1": set(), "a2": set()}
    assert runner.log == ["a opened", "a1", "a2", "a put back", "tools removed"]


def test_results_are_in_the_order_of_a_report_whatever_was_made_first():
    runner = FakeRunner()
    done = make(runner, [
        (opening("a", ["a1", "a2", "a3"], [["a1"]], first=["a3"]), []),
        (opening("b", ["b1"], []), []),
    ])  # fmt: skip
    assert runner.log[1:3] == ["a3", "a2"]
    assert [r.id for r in done] == ["pre", "a1", "a2", "a3", "pre", "b1"]


def test_every_suite_is_put_back_the_last_one_first_and_the_tools_go_after_all():
    runner = FakeRunner()
    make(runner, [(opening("a", ["a1"], [["a1"]]), []), (opening("b", ["b1"], [["b1"]]), [])])
    assert runner.log[-3:] == ["b put back", "a put back", "tools removed"]


@pytest.mark.parametrize("where", ["alone", "beside"])
def test_after_an_interruption_no_further_check_begins_and_all_is_put_back(where):
    def stop(name):
        if name == ("a1" if where == "alone" else "a2"):
            raise KeyboardInterrupt

    runner = FakeRunner()
    with pytest.raises(KeyboardInterrupt):
        make(runner, [(opening("a", ["a1", "a2", "a3"], [["a2"], ["a3"]], act=stop), [])])
    assert "a3" not in runner.log
    assert runner.log[-2:] == ["a put back", "tools removed"]


def test_a_suite_that_cannot_be_opened_puts_back_those_before_it():
    @contextmanager
    def broken(runner, only):
        raise RuntimeError("no clients")
        yield

    runner = FakeRunner()
    with pytest.raises(RuntimeError, match="no clients"):
        make(runner, [(opening("a", ["a1"], []), []), (broken, [])])
    assert runner.log[-2:] == ["a put back", "tools removed"]


TIMED = {
    *("A-FS1", "A-FS2", "A-FS3", "A-FS4", "A-FS5", "A-BD1", "A-BD2", "A-BD5", "A-S3-4", "A-S3-5", "A-AL-HIT"),
    *("K-PODS", "K-API", "K-MEM", "A-LOG-ARRIVE"),
}
"""Checks that judge or show how fast something is, or how much memory it takes."""


def test_what_is_timed_is_never_made_beside_others():
    beside = {
        check.ID
        for suite in registry.suites().values()
        for stage in suite.beside
        for check in stage
    }  # fmt: skip
    assert not beside & TIMED
    assert beside | TIMED == {c.ID for suite in registry.suites().values() for c in suite.checks}


def test_what_no_one_needs_any_more_is_removed_after_all_that_is_timed_and_before_the_end():
    runner = FakeRunner()

    @contextmanager
    def open_(runner, only):
        with opening("a", ["a1", "a2"], [["a2"]])(runner, only) as session:
            session.clear = lambda: runner.log.append("cleared")
            yield session

    make(runner, [(open_, []), (opening("b", ["b1"], []), [])])
    assert runner.log.index("cleared") > runner.log.index("b1")
    assert runner.log.index("cleared") < runner.log.index("b put back")


def test_a_suite_closes_while_others_are_still_at_work():
    closed, runner = threading.Event(), FakeRunner()

    @contextmanager
    def open_(runner, only):
        with opening("a", ["a1"], [["a1"]])(runner, only) as session:
            session.closing = closed.set
            yield session

    make(runner, [(open_, []), (opening("b", ["b1"], [["b1"]], act=lambda name: closed.wait(LIMIT_S)), [])])
    assert closed.is_set()
