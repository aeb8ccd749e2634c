"""`avadm disk replace`: its options reach the plan, and nothing of it is asked twice."""

import pytest

from avadm.cli import disk_replace as module
from avadm.operations import disk_replace as operation
from avadm.operations.disk_replace import Wanted


@pytest.fixture
def wanted(monkeypatch):
    seen = []
    monkeypatch.setattr(operation, "build", lambda one: one)
    monkeypatch.setattr(module, "operate", lambda app, build, **more: seen.append((build, more)) or 0)
    return seen


def test_the_words_reach_the_plan(avadm, wanted):
    words = ["--with", "S2", "--drain", "--accept", "replace-no-disk", "--dry-run"]
    assert avadm("disk", "replace", "stor1", "osd.3", *words).exit_code == 0
    [(one, more)] = wanted
    assert one == Wanted("stor1", "osd.3", "S2", drain=True, accepted=("replace-no-disk",))
    assert (more["dry_run"], more["accepted"], more["yes"]) == (True, ("replace-no-disk",), False)


def test_without_options_nothing_is_accepted_or_drained(avadm, wanted):
    avadm("disk", "replace", "stor1", "S1")
    assert wanted[0][0] == Wanted("stor1", "S1")


def test_both_the_node_and_the_osd_are_needed(avadm, wanted):
    assert avadm("disk", "replace", "stor1").exit_code == 2
    assert wanted == []
