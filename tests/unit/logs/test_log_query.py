"""What is asked of the stores, and that no name can smuggle a query in."""

import pytest

from avadm.logs.client import Client
from avadm.logs.query import Line, Query, nanoseconds, severity
from avadm.logs.workload import Workload, WorkloadLogs
from tests.unit.logs.test_log_client import FakeStore, row


def test_all_that_is_wanted_is_asked_for():
    query = Query(host="comp1", unit="kube*", severity="error", since=0, until=60)
    assert query.text() == (
        '_time:[1970-01-01T00:00:00.000Z, 1970-01-01T00:01:00.000Z) host:="comp1" unit:="kube"* '
        "severity:in(err,crit,alert,emerg)"
    )


def test_text_is_looked_for_as_it_is():
    assert Query(grep='a.b "c"').text() == r'* _msg:~"(?i)a\\.b \"c\""'


@pytest.mark.parametrize("value", ['x" or "', "a b", "a)b", "*a", "a*b", "a\n"])
def test_what_is_no_name_is_refused(value):
    with pytest.raises(ValueError, match="no host is called"):
        Query(host=value).text()


def test_severities_have_the_names_that_people_use():
    assert [severity(w) for w in ("error", "WARN", "fatal", "notice")] == ["err", "warning", "crit", "notice"]
    with pytest.raises(ValueError, match="no severity 'bad'"):
        severity("bad")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01T00:00:01.000000001Z", 10**9 + 1),
        ("1970-01-01T02:00:01.5+02:00", 10**9 + 5 * 10**8),
        ("yesterday", 0),
        ("1970-99-01T00:00:01Z", 0),
    ],
)
def test_times_keep_their_nanoseconds(text, wanted):
    assert nanoseconds(text) == wanted


def test_a_row_without_fields_is_a_line():
    assert Line.of({"_msg": "x"}) == Line("", "x")


def test_a_workload_is_asked_for_by_namespace_and_pods():
    assert Workload("team-a", ("train-1",), "main").query().text() == (
        '* component:="pod" namespace:="team-a" pod:="train-1" container:="main"'
    )
    assert Workload("team-a", ("t-0", "t-1")).query().text().endswith('pod:in("t-0","t-1")')
    assert Workload("team-a", ("t-*",)).query().text().endswith('pod:="t-"*')


@pytest.mark.parametrize(
    "bad", [Workload("", ("p",)), Workload("n", ()), Workload("n", ("",)), Workload("n", ("a*", "b"))]
)
def test_a_workload_without_names_is_refused(bad):
    with pytest.raises(ValueError, match=r"workload|exact name"):
        bad.query().text()


def test_a_workloads_log_is_read():
    logs = WorkloadLogs(Client([FakeStore("a", [row(1, 5), row(2, 6)])]))
    assert [line.message for line in logs.read(Workload("n", ("p",))).lines] == ["line 1", "line 2"]
