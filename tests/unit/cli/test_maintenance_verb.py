"""`avadm maintenance` as a user types it, and what `avadm status` shows of what operations left."""

import json
import time

import pytest

from avadm.state.operations import OperationRecord, SettingRecord
from avadm.state.site_state import SiteState
from tests.unit.fakes.cli import refusals

BEGIN = ["maintenance", "begin"]


@pytest.fixture
def state(tmp_path):
    return SiteState.of(tmp_path / "site.yml", "t")


def note(until, nodes=("stor1",)):
    return {"nodes": list(nodes), "reason": "new memory", "user": "ops@desk", "since": 1e9, "until": until}


@pytest.fixture
def listed(avadm, called, tmp_path):
    """Return a function: the exit status and output of the list."""
    return lambda *words: called("--site", tmp_path / "site.yml", "maintenance", "list", *words)[:2]


def test_none_is_listed_with_status_0(listed):
    assert listed() == (0, "No maintenance is on.\n")


def test_the_list_has_who_why_and_until_and_status_1_where_one_is_overdue(listed, state):
    now = time.time()
    state.drop_operation("", {"maintenance r1": note(now + 900, ("stor1", "stor2"))})
    assert listed()[0] == 0
    state.drop_operation("", {"maintenance comp1": note(now - 60, ("comp1",))})
    code, out = listed("--json")
    assert code == 1
    late, early = json.loads(out)["maintenances"]
    assert (late["name"], late["overdue"], early["name"], early["overdue"]) == ("comp1", True, "r1", False)
    assert (late["user"], late["reason"], late["nodes"]) == ("ops@desk", "new memory", ["comp1"])
    _, text = listed()
    for word in ("comp1", "overdue", "ops@desk", "new memory", "stor1-2"):
        assert word in text


@pytest.mark.parametrize(
    "words",
    [
        ["--for", "2h", "--reason", "x"],
        ["stor1", "--rack", "rack1", "--for", "2h", "--reason", "x"],
        ["stor1", "--for", "-2h", "--reason", "x"],
        ["stor1", "--for", "yesterday", "--reason", "x"],
        ["stor1", "--reason", "x"],
        ["stor1", "--for", "2h"],
    ],
    ids=" ".join,
)
def test_words_that_make_no_maintenance_are_usage_errors(avadm, words):
    result = avadm(*BEGIN, *words)
    assert result.exit_code == 2
    assert "Usage:" in result.output


def test_bad_input_is_one_pass_and_changes_nothing(avadm, nodes, state):
    found = refusals(avadm(*BEGIN, "none", "--for", "0s", "--reason", " "))
    assert [f.check for f in found] == ["unknown-node", "maintenance-time", "maintenance-reason"]
    assert state.begun() == []
    assert [f.check for f in refusals(avadm("maintenance", "end", "none"))] == ["maintenance-unknown"]
    found = refusals(avadm(*BEGIN, "none", "--for", "2h", "--reason", "x", "--accept", "all"))
    assert [f.check for f in found] == ["accept-unknown"]


def test_status_names_what_is_half_done_on_and_left(avadm, state):
    now = time.time()
    assert json.loads(avadm("status", "--json").stdout)["leftovers"] == []
    state.keep_operation(OperationRecord("avadm upgrade ceph", "upgrade", ("ceph",), now - 60, "ops@desk"))
    state.keep_setting(SettingRecord("noout", "stor2", "operation avadm upgrade ceph", now - 600))
    state.keep_setting(SettingRecord("noout", "stor1", "maintenance stor1", now - 600))
    state.drop_operation("", {"maintenance stor1": note(now - 60)})
    found = json.loads(avadm("status", "--json").stdout)
    assert [(o["command"], o["user"]) for o in found["operations"]] == [("avadm upgrade ceph", "ops@desk")]
    assert [(o["target"], o["age_s"] // 60) for o in found["leftovers"]] == [("stor2", 10)]
    assert [(o["name"], o["overdue"]) for o in found["maintenances"]] == [("stor1", True)]
    text = " ".join(avadm("status").output.split())
    assert "Half done: `avadm upgrade ceph` continues it (begun by ops@desk" in text
    assert "Next `avadm upgrade ceph` continues what is half done." in text
    assert "noout stor2, set 10 min ago" in text
    assert "by ops@desk: new memory (overdue)" in text
