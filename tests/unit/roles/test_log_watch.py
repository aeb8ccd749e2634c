"""What the watch of logs makes of lines: rates, new patterns, known troubles; and the shipper's counters."""

import json
import re

import pytest

from avadm_node.agents.logs import shipper as stats
from avadm_node.agents.logs import watch as log_watch
from tests.unit.fakes.roles import read

TROUBLES = read("log_watch", "files/known-troubles.yml")["troubles"]
SAMPLES = [(t["id"], t["pattern"], t["words"], s) for t in TROUBLES for s in t["samples"]]
OTHERS = [(t["id"], t["pattern"], s) for t in TROUBLES for s in t["others"]]


@pytest.mark.parametrize(("name", "pattern", "words", "line"), SAMPLES, ids=[s[0] for s in SAMPLES])
def test_a_troubles_line_is_known(name, pattern, words, line):
    assert re.search(pattern, line)
    # The index is asked for a phrase that begins and (save for a prefix) ends at a word's border, in this very case.
    assert any(re.search(r"(?<![A-Za-z0-9_])" + re.escape(word), line) for word in words), words


@pytest.mark.parametrize(("name", "pattern", "line"), OTHERS, ids=[s[0] for s in OTHERS])
def test_a_line_that_is_near_is_not_taken_for_the_trouble(name, pattern, line):
    assert not re.search(pattern, line)


def test_each_trouble_of_the_requirements_has_a_pattern():
    assert {t["requirement"] for t in TROUBLES} == {f"K{n}" for n in range(2, 13)}
    assert len({t["id"] for t in TROUBLES}) == len(TROUBLES)
    for trouble in TROUBLES:
        assert trouble["samples"]
        assert trouble["others"]
        # RE2 has neither look-around nor back references.
        assert not re.search(r"\(\?[=!<]|\\[1-9]", trouble["pattern"]), trouble["id"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("E1122 10:00:00.123456  12 x.go:1] pod 7 failed", "E1123 11:22:33.654321  99 x.go:1] pod 12 failed"),
        ('cannot open "/var/a": no', 'cannot open "/srv/b c": no'),
        ("dial tcp 10.0.0.5:6443: refused", "dial tcp 10.9.8.7:2379: refused"),
        ("sync of 4f5a6b7c failed after 12ms", "sync of deadbee1 failed after 1ms"),
        ("read /var/lib/a/b failed", "read /etc/x/y/z failed"),
        (
            "pod 12345678-1234-1234-1234-123456789abc gone",
            "pod 87654321-4321-4321-4321-cba987654321 gone",
        ),
    ],
)
def test_lines_of_one_kind_have_one_pattern(one, other):
    assert log_watch.normalised(one) == log_watch.normalised(other)


def test_lines_of_two_kinds_have_two():
    assert log_watch.normalised("disk failed") != log_watch.normalised("net failed")


def errors(*texts):
    return [{"host": "comp1", "component": "kubelet", "_msg": text} for text in texts]


def watch(state, now):
    return log_watch.Watch(state, now, learning_s=3600, pattern_s=10 * 86400)


def test_while_learning_nothing_is_reported_and_afterwards_what_is_new():
    first = watch({}, 1000)
    first.learn(errors("disk 1 failed"))
    assert first.new() == []
    second = watch(json.loads(json.dumps(first.state())), 1000 + 3601)
    second.learn(errors("disk 2 failed", "net failed"))
    assert [p["pattern"] for p in second.new()] == ["net failed"]
    later = watch(second.state(), 1000 + 3601 + log_watch.NEW_SECONDS)
    assert later.new() == [], "reported for an hour"


def test_a_pattern_that_was_long_not_seen_is_new_again():
    state = watch({"since": 0}, 10**6).state()
    known = {"component": "kubelet", "pattern": "net failed", "host": "x"}
    state["patterns"] = {"kubelet net failed": {**known, "first": 0, "last": 10**6, "told": False}}
    soon, late = watch(state, 10**6 + 86400), watch(state, 10**6 + 11 * 86400)
    for one in (soon, late):
        one.patterns = json.loads(json.dumps(one.patterns))
        one.learn(errors("net failed"))
    assert soon.new() == []
    assert [p["pattern"] for p in late.new()] == ["net failed"]


def test_counts_go_on_from_run_to_run_and_each_moment_is_counted_once():
    first = watch({}, 1000)
    first.count([(("comp1", "kubelet", "err"), 2), (("comp1", "kubelet", "crit"), 1)])
    second = watch(json.loads(json.dumps(first.state())), 1060)
    second.count([(("comp1", "kubelet", "err"), 3), (("comp1", "kubelet", "emerg"), 1)])
    assert second.totals == {("comp1", "kubelet", "error"): 5, ("comp1", "kubelet", "fatal"): 2}
    assert second.until == 1000 - log_watch.LAG_S, "where the first ended"


def test_what_is_reported_is_what_the_exporter_reads():
    one = watch({"since": 0}, 10**6)
    one.count([(("comp1", "kubelet", "warning"), 2)])
    one.learn(errors('say "x" \\ y'))
    text = log_watch.metrics_text(one, {("LogDiskError", "stor1"): 3}, {"read_only": "0"}, True)
    assert 'avadm_log_lines_total{component="kubelet",host="comp1",severity="warning"} 2' in text
    new = 'avadm_log_new_pattern{component="kubelet",host="comp1",pattern="say \\"<text>\\" \\\\ y"} 1'
    assert new in text
    assert 'avadm_log_trouble_lines{host="stor1",id="LogDiskError"} 3' in text
    assert "avadm_log_store_up 1" in text
    assert text.endswith("\n")


def test_many_new_patterns_are_a_number_and_not_a_flood():
    one = watch({"since": 0}, 10**6)
    one.learn(errors(*(f"failed in {word * 3}" for word in "abcdefghijklmnopqrstuvwxyzABCDEF")))
    text = log_watch.metrics_text(one, {}, {}, True)
    assert text.count("avadm_log_new_pattern{") == log_watch.MAX_NAMED
    assert "avadm_log_new_patterns 32" in text


def test_the_stores_own_metrics_are_summed():
    text = 'vl_data_size_bytes{type="a"} 5\nvl_data_size_bytes{type="b"} 7\nvl_storage_is_read_only{path="/x"} 1\nother 1\n'
    assert log_watch.facts_of(text) == {"data_bytes": "12", "read_only": "1"}


class FakeStore:
    def __init__(self):
        self.asked = []

    def get(self, path, **params):
        return "vl_rows_ingested_total 9\n"

    def counts(self, query, by, at):
        self.asked.append(query)
        return (
            [(("stor1",), 4)] if "I/O error" in query else [] if by == ("host",) else [(("c", "d", "err"), 1)]
        )

    def lines(self, query):
        self.asked.append(query)
        return errors("broken")


def test_a_look_asks_for_everything_and_leaves_tenants_pods_out():
    store, one = FakeStore(), watch({"since": 0}, 10**6)
    found, facts = log_watch.look(store, one, TROUBLES)
    assert found == {("LogDiskError", "stor1"): 4}
    assert facts == {"taken": "9"}
    assert one.totals == {("c", "d", "error"): 1}
    by_id = {t["id"]: log_watch.trouble_query(t) for t in TROUBLES}
    assert "-component:in(pod)" in by_id["LogDiskError"]
    assert "-component:in(pod)" not in by_id["LogGpuMemoryShort"]


class Answering(log_watch.Store):
    """The store itself, whose answers are given."""

    def __init__(self, *records):
        self.text = "\n".join(records)

    def get(self, path, **params):
        if path.endswith("stats_query"):
            return '{"data": {"result": []}}'
        return self.text if path.endswith("/query") else ""


def test_no_line_stops_the_watch():
    separators = "a\u2028b\u2029c\x85d\x0ce"
    records = [
        json.dumps({"_msg": m, "component": "c", "host": "h"}, ensure_ascii=False) for m in (separators, "x")
    ]
    one = watch({"since": 0, "until": 10**6 - 600}, 10**6)
    log_watch.look(Answering(records[0], "{", "7", records[1]), one, [])
    assert len(one.patterns) == 2
    assert one.state()["until"] == 10**6 - log_watch.LAG_S
    with pytest.raises(log_watch.StoreError):
        Answering("<html>").lines("*")


def test_the_shippers_counters_are_those_of_each_store():
    line = "dst.http;d_{0}#0;http,https://10.0.0.{0}:9428/insert/jsonline?_stream_fields=host,unit;a;{1}\n"
    # Each store has a buffer of its own and one for each part of the namespaces.
    rows = (
        (1, "written;7"),
        ("1_4", "written;5"),
        (2, "queued;7"),
        ("2_1", "dropped;1"),
        ("2_3", "dropped;2"),
    )
    reports = [line.format(*one) for one in rows]
    text = "".join([*reports, "source;s_journal;;a;processed;99\n"])
    made = stats.metrics(text, ["comp1", "comp2"])
    assert 'avadm_log_shipper_sent_total{store="comp1"} 12' in made
    assert 'avadm_log_shipper_waiting{store="comp2"} 7' in made
    assert 'avadm_log_shipper_dropped_total{store="comp2"} 3' in made
    assert "avadm_log_shipper_up 1" in made
    assert "avadm_log_shipper_up 0" in stats.metrics("", ["comp1"])
