"""Plans that are kept, done, and refused where the site is no longer what they saw; dry runs of a plan."""

import json
from pathlib import Path

import pytest

from tests.controls.corrupt_files import GARBAGE
from tests.unit.fakes.cli import refusals

pytestmark = pytest.mark.usefixtures("keeping")


@pytest.fixture
def kept(tmp_path):
    return str(tmp_path / "plan.json")


def test_what_a_plan_says_is_done_and_nothing_else(installed, nodes, playbooks, kept):
    nodes.values["comp1", "file /etc/base"] = "wrong"
    reply = installed("plan", "--out", kept)
    assert reply.exit_code == 0
    assert f"apply --plan {kept}" in reply.output
    assert playbooks.phases == []
    assert Path(kept).stat().st_mode & 0o777 == 0o600
    done = installed("apply", "--plan", kept)
    assert done.exit_code == 0, done.output
    assert playbooks.phases == ["base"]
    assert nodes.values["comp1", "file /etc/base"] == "right"


def test_a_plan_of_an_installation_is_done_though_secrets_are_made_only_then(avadm, playbooks, kept):
    avadm("plan", "--out", kept)
    assert avadm("apply", "--plan", kept).exit_code == 0
    assert set(playbooks.phases) == {"base", "ceph", "monitoring", "cephfs", "rbd"}


def test_phases_and_limit_are_those_of_the_plan(avadm, nodes, playbooks, kept):
    avadm("plan", "base", "--limit", "comp*", "--out", kept)
    assert avadm("apply", "--plan", kept).exit_code == 0
    assert playbooks.phases == ["base"]
    assert {host for host, item in nodes.values if item == "file /etc/base"} == {"comp1", "comp2"}


def test_going_on_after_a_failure_keeps_to_the_limit_of_the_plan(avadm, playbooks, kept):
    avadm("plan", "base", "--limit", "comp*", "--out", kept)
    playbooks.failing = {"base"}
    failed = avadm("apply", "--plan", kept, "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["next"].endswith("apply base --limit comp1,comp2")


def test_drift_that_came_after_the_plan_is_refused_with_each_difference(installed, nodes, playbooks, kept):
    nodes.values["comp1", "file /etc/base"] = "wrong"
    installed("plan", "--out", kept)
    nodes.values["comp1", "file /etc/base"] = "worse"
    nodes.values["stor1", "unit ceph"] = "!stopped"
    found = refusals(installed("apply", "--plan", kept))
    assert playbooks.phases == []
    assert {(f.where.partition(": ")[2], f.found, f.wanted) for f in found} == {
        ("base on comp1: file /etc/base", "drift: worse", "drift: wrong"),
        ("ceph on stor1: unit ceph", "drift: !stopped", "as recorded"),
    }


def test_what_someone_fixed_after_the_plan_is_refused_too(installed, nodes, kept):
    nodes.values["comp1", "file /etc/base"] = "wrong"
    installed("plan", "--out", kept)
    nodes.values["comp1", "file /etc/base"] = "right"
    (found,) = refusals(installed("apply", "--plan", kept))
    assert (found.found, found.wanted) == ("as recorded", "drift: wrong")


def test_a_changed_site_file_is_refused_with_the_phases_and_nodes_that_it_concerns(
    installed, playbooks, kept, tmp_path
):
    installed("plan", "--out", kept)
    site = tmp_path / "site.yml"
    site.write_text(site.read_text().replace("example.test", "other.test"))
    found = refusals(installed("apply", "--plan", kept))
    assert {f.check for f in found} == {"plan-outdated"}
    assert "other inputs (site file, roles or secrets)" in {f.found for f in found}
    assert playbooks.phases == []


@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE.keys())
def test_what_is_no_plan_is_refused(avadm, playbooks, kept, content):
    Path(kept).write_bytes(content)
    (found,) = refusals(avadm("apply", "--plan", kept))
    assert (found.check, kept in found.where) == ("plan-unreadable", True)
    assert playbooks.phases == []


@pytest.mark.parametrize(("key", "value"), [("version", 2), ("avadm", "0.0.1"), ("site", "other")])
def test_a_plan_of_something_else_is_refused(installed, playbooks, kept, key, value):
    installed("plan", "--out", kept)
    data = json.loads(Path(kept).read_text())
    Path(kept).write_text(json.dumps({**data, key: value}))
    (found,) = refusals(installed("apply", "--plan", kept))
    assert (found.check, found.found) == ("plan-of-another", str(value))
    assert playbooks.phases == []


@pytest.mark.parametrize("words", [["base"], ["--limit", "comp1"], ["--full"], ["--check"], ["--resume"]])
def test_a_plan_and_another_choice_are_not_taken_together(installed, playbooks, kept, words):
    installed("plan", "--out", kept)
    assert installed("apply", "--plan", kept, *words).exit_code == 2
    assert playbooks.phases == []


def test_offline_keeps_nothing_and_tries_nothing(avadm, kept):
    for words in (["--deep"], ["--out", kept]):
        assert avadm("plan", "--offline", *words).exit_code == 2
    assert not Path(kept).exists()


def test_a_deep_plan_tries_what_has_to_run_and_only_that(installed, nodes, playbooks, tmp_path):
    nodes.values["comp1", "file /etc/base"] = "wrong"
    state = (tmp_path / ".avadm" / "t" / "ledger.json").read_text()
    playbooks.fixes = False
    reply = installed("plan", "--deep")
    assert reply.exit_code == 0, reply.output
    assert playbooks.phases == ["base"]
    assert [r.check for r in playbooks.requests] == [True]
    assert "base: would change on comp1: role : Work" in reply.output
    assert (tmp_path / ".avadm" / "t" / "ledger.json").read_text() == state
    data = json.loads(installed("plan", "--deep", "--json").stdout)
    assert data["changes"] == [{"phase": "base", "task": "role : Work", "hosts": ["comp1"]}]


def test_a_deep_plan_that_finds_a_task_which_would_fail_says_so(installed, nodes, playbooks):
    nodes.values["comp1", "file /etc/base"] = "wrong"
    playbooks.failing = {"base"}
    reply = installed("plan", "--deep")
    assert reply.exit_code == 1
    assert "base: unknown" in reply.output
