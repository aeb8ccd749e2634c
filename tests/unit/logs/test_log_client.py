"""Two stores' answers are one, and a store that is silent is reported and not felt."""

import json
import re

import pytest

from avadm.logs.client import LATE_S, Client, NoStore
from avadm.logs.query import Query, nanoseconds, rfc3339
from avadm.logs.transport import StoreUnreachable


class FakeStore:
    """A store with rows; it honours the window of time and the limit, as a real one does."""

    def __init__(self, name, rows=None):
        self.name, self.rows, self.down = name, rows or [], ""

    def ask(self, path, params):
        assert path == "/select/logsql/query"
        if self.down:
            raise StoreUnreachable(self.down)
        start, end = 0, 1 << 62
        if window := re.match(r"_time:\[(\S+), (\S+)\)", params["query"]):
            start, end = nanoseconds(window[1]), nanoseconds(window[2])
        found = [r for r in self.rows if start <= nanoseconds(r["_time"]) < end]
        found.sort(key=lambda r: r["_time"], reverse=True)
        return "\n".join(json.dumps(r) for r in found[: int(params["limit"])])


def row(number, at, host="comp1"):
    return {"_time": rfc3339(at), "_msg": f"line {number}", "host": host, "id": f"a@{number:04x}"}


def texts(lines):
    return [line.message for line in lines]


def test_a_line_that_both_have_is_there_once_and_all_are_in_order():
    rows = [row(n, 1000 + n) for n in range(6)]
    answer = Client([FakeStore("a", rows[:4]), FakeStore("b", rows[2:])]).search(Query())
    assert texts(answer.lines) == [f"line {n}" for n in range(6)]
    assert answer.silent == {}
    assert not answer.cut


def test_equal_texts_at_one_moment_are_two_lines():
    twins = [{**row(n, 1000), "_msg": "same"} for n in (1, 2)]
    answer = Client([FakeStore("a", twins), FakeStore("b", twins)]).search(Query())
    assert texts(answer.lines) == ["same", "same"]


def test_a_silent_store_is_reported_and_its_twins_lines_are_shown():
    rows = [row(n, 1000 + n) for n in range(3)]
    down = FakeStore("b", rows)
    down.down = "connection refused"
    answer = Client([FakeStore("a", rows), down]).search(Query())
    assert texts(answer.lines) == ["line 0", "line 1", "line 2"]
    assert answer.silent == {"b": "connection refused"}


def test_when_all_are_silent_each_says_why():
    stores = [FakeStore("a"), FakeStore("b")]
    stores[0].down, stores[1].down = "refused", "no route"
    with pytest.raises(NoStore, match=r"a: refused; b: no route"):
        Client(stores).search(Query())


def test_an_answer_that_is_no_json_counts_as_silence():
    class Broken(FakeStore):
        def ask(self, path, params):
            return "<html>"

    answer = Client([Broken("a"), FakeStore("b", [row(1, 5)])]).search(Query())
    assert set(answer.silent) == {"a"}
    assert texts(answer.lines) == ["line 1"]


def test_the_limit_leaves_the_newest_and_says_that_there_are_more():
    answer = Client([FakeStore("a", [row(n, 1000 + n) for n in range(9)])]).search(Query(), limit=3)
    assert texts(answer.lines) == ["line 6", "line 7", "line 8"]
    assert answer.cut


class Story:
    """A clock, and what happens when it has come to a second."""

    def __init__(self, events):
        self.now, self.events = 1000.0, events

    def sleep(self, seconds):
        self.now += seconds
        event = self.events.get(int(self.now))
        if callable(event):
            event()


def followed(stores, story, seconds, backlog=0):
    reports = []
    client = Client(stores, lambda: story.now, story.sleep)
    ends = {
        "until": lambda: story.now >= 1000 + seconds,
        "on_silent": lambda silent: reports.append(set(silent)),
    }
    return texts(client.follow(Query(), backlog=backlog, **ends)), reports


def test_a_live_view_shows_what_comes_each_once_late_ones_too():
    a, b = FakeStore("a"), FakeStore("b")
    late, fresh = row(1, 1001), row(2, 1004.5)

    def arrive():
        a.rows += [late, fresh]
        b.rows += [fresh]

    seen, report = followed([a, b], Story({1005: arrive}), 30)
    assert seen == ["line 1", "line 2"]
    assert report == []


@pytest.mark.parametrize(("backlog", "shown"), [(0, []), (2, ["line 3", "line 4"])])
def test_of_what_is_there_already_only_the_last_ones_are_shown(backlog, shown):
    there = [row(n, 990 + n) for n in range(5)]
    assert followed([FakeStore("a", there)], Story({}), 5, backlog)[0] == shown


def down(store):
    return lambda: setattr(store, "down", "refused")


def back(store, missed):
    def again():
        store.down = ""
        store.rows.append(missed)

    return again


def test_one_stores_outage_is_reported_once_and_misses_nothing():
    a, b = FakeStore("a"), FakeStore("b")
    missed = row(7, 1010)
    events = {1005: down(a), 1010: lambda: b.rows.append(missed), 1020: back(a, missed)}
    seen, report = followed([a, b], Story(events), 60)
    assert seen == ["line 7"]
    assert report == [{"a"}, set()]


def test_after_an_outage_of_all_what_was_written_meanwhile_comes():
    a = FakeStore("a", [row(0, 999)])
    seen, report = followed([a], Story({1003: down(a), 1400: back(a, row(1, 1100))}), 500)
    assert seen == ["line 1"], "written 300 s before, far beyond what a quiet view looks back"
    assert LATE_S < 300
    assert report == [{"a"}, set()]


SEPARATORS = "a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c\x85d\x0be\x0cf\x1cg"


@pytest.mark.parametrize("bad", ["", "{", "[1]", "7"])
def test_no_line_of_a_user_hides_another(bad):
    class Store(FakeStore):
        def ask(self, path, params):
            reports = [json.dumps(r, ensure_ascii=False) for r in self.rows]
            return "\n".join([reports[0], bad, reports[1]])

    rows = [{**row(1, 1000), "_msg": SEPARATORS}, row(2, 1001)]
    answer = Client([Store("a", rows)]).search(Query())
    assert texts(answer.lines) == [SEPARATORS, "line 2"]
    assert answer.silent == {}
