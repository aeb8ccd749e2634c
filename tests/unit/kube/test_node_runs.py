"""What is left of AVA's runs on nodes, the eviction of other pods, and uncordoning, with masters and AVA that behave."""

from dataclasses import dataclass, field, replace

import pytest

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.kube.drain import Allowed, evict, uncordon
from avadm.kube.node_runs import SHOWN, Notice, runs_left
from tests.unit.operations.ava_room import SPACE, THEN, Ava, run


@dataclass
class Masters:
    """Masters that report pods of AVA's runs, and evict as they are planned to.

    Attributes:
        answers: of evictions, one after the other; an AvadmError is raised.
        given: what evictions were asked with.
    """

    ava: Ava = field(default_factory=Ava)
    answers: list = field(default_factory=list)
    given: list = field(default_factory=list)
    more: dict = field(default_factory=dict)
    cordoned: bool = True

    def ask(self, do, names, wait=0.0, **given):
        if do == "look":
            return {name: {"runs": self.ava.pods(name) | self.more} for name in names}
        if do == "uncordon":
            changed, self.cordoned = self.cordoned, False
            return {name: {"changed": changed} for name in names}
        self.given.append(given)
        self.ava.now += given["seconds"]
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, AvadmError):
            raise found
        return dict.fromkeys(names, found)


DONE = {"done": True, "evicted": ["shop/a"], "left": [], "refused": {}}
LEFT = {"done": False, "evicted": [], "left": [{"pod": "shop/b", "why": "is ending"}], "refused": {}}
NOWHERE = {"done": False, "evicted": [], "left": [], "refused": {"nowhere": ["shop/b"]}, "cordoned": True}
NO = AvadmError([Finding(check="kubernetes-master", what="No master answers.")])


@pytest.fixture
def masters():
    return Masters()


def left(masters, *names, ignored=()):
    return runs_left(masters, masters.ava, names or ("comp1",), ignored, masters.ava.utc())


def test_runs_are_named_with_owner_and_end_and_the_latest_end_is_expected(masters):
    masters.ava.on = {"comp1": [run("r1", "workbench", "ben")], "comp2": [run("r2")]}
    masters.ava.begin("comp1", Notice(600))
    masters.ava.begin("comp2", Notice(60))
    found = left(masters, "comp1", "comp2")
    assert (found.pods, found.expected_s) == (2, 600)
    assert list(found.words) == [
        "comp1: workbench workbench-r1 of ben (r1): stops at 2026-11-28 12:10 UTC",
        "comp2: training training-r2 of ann (r2): ends by itself, or when its owner agrees",
    ]


def test_a_notice_is_waited_for_though_no_run_has_an_end(masters):
    masters.ava.on = {"comp1": [run("r1")]}
    masters.ava.begin("comp1", Notice(600))
    assert left(masters).expected_s == 600
    masters.ava.now = 700
    assert left(masters).expected_s == 0


def test_a_pod_whose_run_has_ended_is_waited_for_and_one_that_is_evicted_is_not(masters):
    masters.more = {f"{SPACE}/gone": "r9"}
    assert left(masters).pods == 1
    assert f"comp1: pod {SPACE}/gone" in left(masters).words
    assert left(masters, ignored=[f"{SPACE}/gone"]).pods == 0


def test_ava_is_not_asked_where_no_pod_is(masters):
    masters.ava.silent = True
    assert left(masters).pods == 0
    masters.ava.on = {"comp1": [run("r1")]}
    with pytest.raises(AvadmError):
        left(masters)


def test_many_runs_are_counted_after_the_first(masters):
    masters.ava.on = {"comp1": [run(f"r{n}") for n in range(SHOWN + 4)]}
    masters.ava.begin("comp1", Notice(600))
    found = left(masters)
    assert (len(found.words), found.words[-1]) == (SHOWN + 1, "and 4 more")


@pytest.mark.parametrize(
    ("kind", "stop_runs", "text"),
    [
        ("workbench", False, "stops 30 min after the notice to its owner"),
        ("training", True, "is ended 30 min after the notice to its owner"),
        ("training", False, "is waited for"),
        ("service", True, "moves to other nodes"),
    ],
)
def test_how_a_run_will_leave_is_shown_before_the_notice(kind, stop_runs, text):
    one = run("r1", kind)
    assert one.planned(Notice(1800, stop_runs), THEN) == f"{kind} {kind}-r1 of ann (r1, 3 h): {text}"
    assert one.planned(Notice(), THEN).startswith(f"{kind} {kind}-r1 of ann (r1, 3 h)")


def test_a_run_that_leaves_already_is_shown_with_that():
    one = replace(run("r1"), leaves=THEN)
    assert one.planned(Notice(), THEN).endswith("stops at 2026-11-28 12:00 UTC")
    assert replace(one, stopping=True).planned(Notice(), THEN).endswith("is stopping")
    assert one.as_dict()["leaves"] == THEN.isoformat()


def evicted(masters, lines=None, **allowed):
    ava = masters.ava
    tell = (lines if lines is not None else []).append
    return evict(masters, "comp1", Allowed(**allowed), tell, lambda: ava.now, ava.sleep)


def test_what_is_allowed_reaches_the_master(masters):
    masters.answers = [DONE]
    assert evicted(masters, force=True, runs=True).evicted == ["shop/a"]
    [given] = masters.given
    assert (given["force"], given["delete_local_data"], given["runs"]) == (True, False, True)


def test_pods_that_are_left_too_long_are_named(masters):
    masters.answers = [LEFT]
    lines = []
    with pytest.raises(AvadmError) as error:
        evicted(masters, lines, timeout=25)
    [found] = error.value.findings
    assert (found.check, found.found) == ("drain-late", "shop/b (is ending)")
    assert masters.ava.now == 25
    assert lines == ["comp1: 1 left: shop/b (is ending)"]


def test_pods_that_no_other_node_takes_for_a_moment_are_waited_for(masters):
    masters.answers = [NOWHERE, NOWHERE, DONE]
    lines = []
    assert evicted(masters, lines, timeout=600).evicted == ["shop/a"]
    assert lines == ["comp1: waiting until another node takes shop/b"]
    assert masters.ava.now < 60


def test_pods_that_no_other_node_takes_to_the_end_are_refused(masters):
    masters.answers = [NOWHERE]
    with pytest.raises(AvadmError) as error:
        evicted(masters, timeout=100)
    [found] = error.value.findings
    assert (found.check, found.found) == ("pods-nowhere", "shop/b")
    assert 100 <= masters.ava.now <= 110


def test_pods_that_would_be_lost_end_an_eviction_at_once(masters):
    masters.answers = [{**NOWHERE, "refused": {"nowhere": ["shop/b"], "local-data": ["shop/c"]}}]
    with pytest.raises(AvadmError) as error:
        evicted(masters, timeout=100)
    assert [f.check for f in error.value.findings] == ["pods-nowhere", "pods-local-data"]
    assert masters.ava.now == 10


@pytest.mark.parametrize(("failures", "ends"), [(2, True), (3, False)])
def test_masters_that_are_silent_for_a_moment_are_asked_again(masters, failures, ends):
    masters.answers = [NO] * failures + [DONE, DONE]
    if ends:
        assert evicted(masters).evicted == ["shop/a"]
        return
    with pytest.raises(AvadmError):
        evicted(masters)


def test_accepted_ids_are_what_may_be_evicted():
    assert Allowed.accepting(["pods-local-data"], 5) == Allowed(delete_local_data=True, timeout=5)
    # Runs that AVA can be asked about leave by AVA, whatever is accepted.
    assert not Allowed.accepting(["ava-runs"], 5).runs
    assert Allowed.accepting(["ava-runs"], 5, runs=True).runs
    assert not Allowed.accepting(["pods-without-controller"], 5, runs=True).runs


def test_uncordon_lets_runs_stay_and_does_so_where_the_platform_is_silent(masters):
    masters.ava.begin("comp1", Notice())
    lines = []
    assert uncordon(masters, ["comp1"], lines.append, masters.ava) == {"comp1": {"changed": True}}
    assert (masters.ava.begun, lines) == ({}, [])
    masters.ava.silent = True
    assert uncordon(masters, ["comp1"], lines.append, masters.ava) == {"comp1": {"changed": False}}
    assert len(lines) == 1
