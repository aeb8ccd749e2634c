"""What Patroni reports of PostgreSQL's members, and a switchover; answers are those of Patroni 3.0 and 4.0's /cluster."""

import json
import shlex

import pytest

from avadm.cluster.connection import Cluster
from avadm.errors import AvadmError
from avadm.operations.database_members import LAG_BYTES, DatabaseMembers
from avadm.operations.run import Clock
from avadm.remote.fleet import Result
from tests.unit.fakes import sites
from tests.unit.fakes.clock import Clock as FakeClock


class Members:
    """Nodes whose Patroni answers; a switchover takes some questions."""

    def __init__(self):
        self.seen = {
            "d1": {"role": "leader", "state": "running", "timeline": 7},
            "d2": {"role": "sync_standby", "state": "streaming", "timeline": 7, "lag": 0},
            "d3": {"role": "replica", "state": "streaming", "timeline": 7, "lag": 0},
        }
        self.silent, self.switches, self.text, self.late = set(), [], None, 0

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.silent:
            return Result(node, command, None, "", "", 0.0, 0.0, error="no route")
        words = shlex.split(command)
        if "switchover" in words:
            self.switches.append(
                (node, words[words.index("--leader") + 1], words[words.index("--candidate") + 1])
            )
            self.late = 2
            return Result(node, command, 0, "", "", 0.0, 0.0)
        assert words[-1] == "https://127.0.0.1:8008/cluster" and "/etc/patroni/ca.crt" in words
        if self.switches and not self.late:
            old, new = self.switches[-1][1:]
            self.seen[old] |= {"role": "sync_standby", "state": "streaming", "timeline": 8, "lag": 0}
            for name in self.seen:
                self.seen[name]["timeline"] = 8
            self.seen[new] = {"role": "leader", "state": "running", "timeline": 8}
        self.late = max(0, self.late - 1)
        text = self.text or json.dumps({"members": [{"name": n, **one} for n, one in self.seen.items()]})
        return Result(node, command, 0, text, "", 0.0, 0.0)


@pytest.fixture
def bench():
    members = Members()
    clock = FakeClock()
    site = sites.site(*(sites.node(n, i, "database") for i, n in enumerate(("d1", "d2", "d3"), 1)))
    file = type("File", (), {"site": site})()
    return members, DatabaseMembers(Cluster(file, members, None), Clock(clock, clock.sleep))


def test_all_are_well_where_one_leads_and_all_others_follow_it(bench):
    _, found = bench
    assert (found.leader(), found.troubles()) == ("d1", {})


@pytest.mark.parametrize(
    ("node", "change", "words"),
    [
        ("d3", None, "no member"),
        ("d3", {"state": "starting"}, "starting"),
        ("d3", {"timeline": 6}, "timeline is 6"),
        ("d3", {"lag": "unknown"}, "unknown"),
        ("d3", {"lag": LAG_BYTES + 1}, "behind"),
        ("d2", {"role": "replica"}, "synchronous"),
        ("d1", {"role": "replica", "lag": 0}, "0 primaries"),
        ("d2", {"role": "leader"}, "2 primaries"),
    ],
)
def test_what_keeps_members_from_being_well_is_named(bench, node, change, words):
    members, found = bench
    if change is None:
        del members.seen[node]
    else:
        members.seen[node] |= change
    assert words in str(found.troubles()), found.troubles()


def test_the_primary_hands_over_to_a_synchronous_standby_and_is_waited_for(bench):
    members, found = bench
    lines = []
    assert found.hand_over("d1", lines.append) == "d2"
    assert members.switches == [("d1", "d1", "d2")]
    assert found.leader() == "d2" and lines


def test_a_standby_and_an_only_member_hand_nothing_over(bench):
    members, found = bench
    assert found.hand_over("d2", print) == ""
    members.seen = {"d1": members.seen["d1"]}
    assert found.hand_over("d1", print) == ""
    assert members.switches == []


def test_without_a_synchronous_standby_nothing_is_handed_over(bench):
    members, found = bench
    members.seen["d2"]["role"] = "replica"
    with pytest.raises(AvadmError) as error:
        found.hand_over("d1", print)
    assert [f.check for f in error.value.findings] == ["upgrade-unhealthy"]
    assert members.switches == []


def test_a_switchover_that_does_not_come_to_its_end_is_an_error(bench):
    members, found = bench
    members.run, run = (lambda *a, **k: (setattr(members, "late", 5), run(*a, **k))[1]), members.run
    with pytest.raises(AvadmError) as error:
        found.hand_over("d1", lambda line: None)
    assert [f.check for f in error.value.findings] == ["gate-closed"]


@pytest.mark.parametrize("text", ["", "{}", "[]", "<html>", '{"members": [1]}'])
def test_a_reply_of_another_shape_is_an_error_and_never_no_members(bench, text):
    members, found = bench
    members.text = text or " "
    with pytest.raises(AvadmError) as error:
        found.troubles()
    assert {f.check for f in error.value.findings} == {"database-command"}


def test_a_node_that_is_silent_is_passed_over(bench):
    members, found = bench
    members.silent = {"d1"}
    assert found.leader() == "d1"
    members.silent = {"d1", "d2", "d3"}
    with pytest.raises(AvadmError):
        found.troubles()
