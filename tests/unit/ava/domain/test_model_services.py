"""Services' replicas: whatever happens in whatever order, requests are answered and the wanted state is reached."""

import re
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from ava.domain.model_services import (
    Replica,
    Service,
    address,
    clamp,
    former_address,
    plan,
    same_pods,
    scaled,
    surge,
)
from ava.domain.spec import Scaling
from tests.unit.ava.db.world import NOW, later

SERVICE = Service("r1", 2, 1, 0, NOW, NOW)


def ready(revision, *indexes, **more):
    return [Replica(revision, i, ready=True, **more) for i in indexes]


class Serving(RuleBasedStateMachine):
    """A service whose revisions serve or do not, and pods that come, go and die as they like."""

    def __init__(self):
        super().__init__()
        self.service = replace(SERVICE, target=0)
        self.good = {0}
        self.pods = {}

    def step(self):
        before = list(self.pods.values())
        done = plan(self.service, before)
        serving = [p for p in before if p.ready and not p.ending and not p.ended]
        for name in done.remove:
            assert not self.pods[name].ending
            self.pods[name] = replace(self.pods[name], ending=True, ready=False)
        left = [p for p in self.pods.values() if p.ready and not p.ended]
        assert len(left) >= min(len(serving), self.service.wanted)
        if not any(p.ready for p in serving if p.revision == self.service.target):
            lost = [p for p in serving if p.revision == self.service.settled and p not in left]
            assert len(lost) <= max(0, len(serving) - self.service.wanted)
        for name in done.create:
            assert name not in self.pods
            self.pods[name] = Replica(*name)
        most = self.service.wanted + surge(self.service.wanted)
        # What ends or has ended serves no one: it counts while an update is under way, and holds up no replacement else.
        living = {p.revision for p in before if not (p.ending or p.ended)}
        if done.create:
            alive = [p for p in self.pods.values() if not (p.ending or p.ended)]
            assert len(alive) <= most
            assert len(self.pods) <= most or not living - {self.service.target}
        if done.settled:
            self.service = replace(self.service, settled=self.service.target)
        return done

    @rule()
    def look(self):
        self.step()

    def some(self, data, wanted):
        names = sorted(name for name, pod in self.pods.items() if wanted(pod))
        return data.draw(st.sampled_from(names)) if names else None

    @rule(data=st.data())
    def is_ready(self, data):
        name = self.some(data, lambda p: p.revision in self.good and not (p.ending or p.ended))
        if name:
            self.pods[name] = replace(self.pods[name], ready=True, bad=False)

    @rule(data=st.data(), bad=st.booleans())
    def is_unready(self, data, bad):
        name = self.some(data, lambda p: True)
        if name:
            self.pods[name] = replace(self.pods[name], ready=False, bad=bad)

    @rule(data=st.data())
    def ends(self, data):
        name = self.some(data, lambda p: True)
        if name:
            self.pods[name] = replace(self.pods[name], ready=False, ended=True)

    @rule(data=st.data())
    def is_gone(self, data):
        name = self.some(data, lambda p: True)
        if name:
            del self.pods[name]

    @rule(data=st.data())
    def is_drained(self, data):
        """Its node is: for a replica of the former revision, and for one of the new."""
        name = self.some(data, lambda p: not (p.ending or p.ended))
        if name:
            self.pods[name] = replace(self.pods[name], leaving=True)

    @rule(count=st.integers(1, 6))
    def scale(self, count):
        self.service = replace(self.service, wanted=count)

    @precondition(lambda self: self.service.target < 5)
    @rule(serves=st.booleans())
    def update(self, serves):
        revision = max(self.service.target, self.service.settled, *(n[0] for n in self.pods), 0) + 1
        self.good |= {revision} if serves else set()
        self.service = replace(self.service, target=revision)

    @rule()
    def take_back(self):
        self.service = replace(self.service, target=self.service.settled)

    def teardown(self):
        """In peace it ends as it should: at the target where that serves, else with all that serve still serving."""
        for _ in range(60):
            self.pods = {n: p for n, p in self.pods.items() if not p.ending}
            for name, pod in self.pods.items():
                serves = pod.revision in self.good and not pod.ended
                self.pods[name] = replace(pod, ready=serves, bad=not serves)
            self.step()
        if self.service.target in self.good:
            assert not any(p.leaving for p in self.pods.values())
            assert sorted(self.pods) == [(self.service.target, i) for i in range(self.service.wanted)] or (
                len(self.pods) == self.service.wanted and {n[0] for n in self.pods} == {self.service.target}
            )
            assert self.service.settled == self.service.target
            assert self.step() == replace(plan(self.service, self.pods.values()), settled=True)
        elif self.service.settled in self.good:
            serving = [p for p in self.pods.values() if p.ready]
            assert len(serving) >= self.service.wanted
            assert plan(self.service, self.pods.values()).stalled
        assert len(self.pods) <= self.service.wanted + surge(self.service.wanted)


TestServing = Serving.TestCase
TestServing.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


def test_an_update_makes_a_new_replica_first_and_takes_an_old_one_when_it_is_ready():
    old = ready(0, 0, 1)
    assert plan(SERVICE, old).create == ((1, 0),)
    assert plan(SERVICE, old).remove == ()
    assert plan(SERVICE, [*old, Replica(1, 0)]).remove == ()
    done = plan(SERVICE, [*old, *ready(1, 0)])
    assert (done.create, done.remove) == ((), ((0, 1),))


def test_a_bad_update_stops_at_its_first_replicas_and_what_dies_comes_back_as_it_was():
    bad = Replica(1, 0, bad=True)
    done = plan(SERVICE, [*ready(0, 0, 1), bad])
    assert (done.create, done.remove, done.stalled) == ((), (), True)
    done = plan(SERVICE, [*ready(0, 0), bad])
    assert (done.create, done.remove) == (((0, 1),), ())


def test_taking_an_update_back_removes_what_does_not_serve_and_nothing_else():
    back = replace(SERVICE, target=0)
    done = plan(back, [*ready(0, 0, 1), Replica(1, 0, bad=True)])
    assert (done.create, done.remove) == ((), ((1, 0),))


def test_a_replica_that_ended_is_taken_away_and_made_again_under_a_free_name():
    steady = replace(SERVICE, target=0)
    done = plan(steady, [*ready(0, 0), Replica(0, 1, ended=True)])
    assert (done.create, done.remove) == (((0, 2),), ((0, 1),))


def test_a_replica_on_a_drained_node_goes_once_another_one_serves_elsewhere():
    steady = replace(SERVICE, target=0)
    there = [*ready(0, 0), *ready(0, 1, leaving=True)]
    done = plan(steady, there)
    assert (done.create, done.remove, done.settled) == (((0, 2),), (), False)
    assert plan(steady, [*there, Replica(0, 2)]) == replace(done, create=())
    done = plan(steady, [*there, *ready(0, 2)])
    assert (done.create, done.remove) == ((), ((0, 1),))
    assert plan(steady, ready(0, 0, 2)).settled


def test_of_several_on_drained_nodes_no_more_than_an_update_s_move_at_once():
    steady = replace(SERVICE, target=0, wanted=4)
    assert plan(steady, ready(0, 0, 1, 2, 3, leaving=True)).create == ((0, 4),)
    assert plan(steady, ready(0, 0, 1, 2, 3)).create == ()


def test_one_that_does_not_serve_on_a_drained_node_goes_no_earlier():
    steady = replace(SERVICE, target=0)
    there = [*ready(0, 0), Replica(0, 1, leaving=True)]
    assert (plan(steady, there).create, plan(steady, there).remove) == (((0, 2),), ())
    assert plan(steady, [*there, *ready(0, 2)]).remove == ((0, 1),)


@pytest.mark.parametrize("target", [0, 1])
def test_when_its_time_is_over_a_replica_goes_whether_or_not_another_serves(target):
    """Of a service whose replicas never become ready, or whose update is stalled, none holds a node."""
    service = replace(SERVICE, target=target)
    due = ready(0, 1, leaving=True, due=True)
    there = [*ready(0, 0), Replica(target, 2, bad=True), *due]
    assert (0, 1) in plan(service, there).remove
    assert (0, 1) not in plan(service, [*there[:2], *ready(0, 1, leaving=True)]).remove


@pytest.mark.parametrize(
    ("wanted", "rate", "after", "expected"),
    [
        (2, 20.0, 60, 2),
        (2, 21.0, 60, 2),
        (2, 25.0, 60, 3),
        (2, 500.0, 60, 4),
        (8, 500.0, 60, 10),
        (2, 25.0, 10, 2),
        (4, 5.0, 60, 4),
        (4, 5.0, 301, 1),
        (4, None, 999, 4),
        (12, None, 0, 10),
    ],
)
def test_the_number_follows_the_load_within_bounds_and_not_at_once(wanted, rate, after, expected):
    bounds = Scaling(least=1, most=10, requests=10)
    assert scaled(replace(SERVICE, wanted=wanted), bounds, rate, later(after)) == expected


@pytest.mark.parametrize("count", [0, 1, 5, 99])
def test_no_bounds_change_nothing(count):
    assert clamp(count, None) == count
    assert 2 <= clamp(count, Scaling(least=2, most=4)) <= 4


def test_only_what_pods_are_made_from_makes_another_revision():
    spec = {
        "image": "a",
        "roles": [{"name": "worker", "replicas": 2}],
        "serving": {"port": 1, "access": "group"},
    }
    scaled_up = spec | {"roles": [{"name": "worker", "replicas": 9}]}
    assert same_pods(spec, scaled_up)
    assert same_pods(spec, spec | {"serving": {"port": 1, "access": "public"}})
    assert not same_pods(spec, spec | {"image": "b"})
    assert not same_pods(spec, spec | {"serving": {"port": 2, "access": "group"}})


def test_an_address_is_one_service_s_alone_however_names_are_cut():
    names = [
        ("ann", "a-b"),
        ("ann-a", "b"),
        ("ann", "a.b"),
        ("bob", "a-b"),
        ("ann", "x" * 200),
        ("ann", "x" * 199),
    ]
    found = {address(owner, name) for owner, name in names}
    assert len(found) == len(names)
    assert all(len(label) <= 63 and label.replace("-", "").isalnum() for label in found)
    assert all(re.search(r"-[0-9a-f]{20}$", label) for label in found), "80 bits, which do not collide"
    # Nor is it any service's former name, whose digest is cut shorter.
    former = {former_address(owner, name) for owner, name in names}
    assert all(re.search(r"-[0-9a-f]{10}$", label) for label in former) and not found & former
    assert not any(re.search(r"-[0-9a-f]{10}$", label) for label in found)
