"""Addresses of Services: each its own, kept while it lives, and reported why where there is none."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from avadm_node.agents import balancer
from tests.unit.fakes.clock import Clock

POOL = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]


def service(name, at=0, has=(), kind="LoadBalancer", **spec):
    status = {"loadBalancer": {"ingress": [{"ip": a} for a in has]} if has else {}}
    meta = {"namespace": "x", "name": name, "uid": name, "creationTimestamp": f"2026-11-22T00:00:{at:02}Z"}
    return {"metadata": {**meta, "resourceVersion": "1"}, "spec": {"type": kind, **spec}, "status": status}


class Api:
    """The API in front of a list of Services."""

    def __init__(self, *services):
        self.services = {balancer.name_of(s): s for s in services}
        self.events, self.status = [], 200

    def call(self, method, path, body=None):
        if method == "POST":
            self.events.append(body["message"])
            return {}
        assert (method, path.split("/")[-1]) == ("PATCH", "status")
        one = self.services["/".join(path.split("/")[4:7:2])]
        if body["metadata"]["resourceVersion"] != one["metadata"]["resourceVersion"]:
            raise balancer.ApiError(409, "the object has been modified")
        if self.status != 200:
            raise balancer.ApiError(self.status, "no")
        listed = body["status"]["loadBalancer"]["ingress"]
        one["status"] = {"loadBalancer": {"ingress": listed} if listed else {}}
        version = str(int(one["metadata"]["resourceVersion"]) + 1)
        one["metadata"] = {**one["metadata"], "resourceVersion": version}
        return one

    def addresses(self):
        return {n.partition("/")[2]: balancer.given(s) for n, s in self.services.items()}


def made(api, turn=0, clock=lambda: 0.0, listed=None):
    reports = []
    services = lambda: listed or list(api.services.values())  # noqa: E731
    return balancer.Balancer(api, services, POOL, turn, clock, reports.append), reports


def test_each_gets_an_address_of_its_own_and_a_second_round_changes_nothing():
    api = Api(service("b", 2), service("a", 1), service("inner", kind="ClusterIP"))
    one, report = made(api)
    one.round()
    assert api.addresses() == {"a": ["10.0.0.1"], "b": ["10.0.0.2"], "inner": []}
    report.clear()
    assert one.round() is None
    assert report == []


LOCAL = {"externalTrafficPolicy": "Local"}


ADDRESSES = {
    "kept while others come and go": (service("a", 1), service("b", 2, POOL[1:2]), POOL[:1], POOL[1:2]),
    "kept by the older of two": (service("a", 2, POOL[:1]), service("b", 1, POOL[:1]), POOL[1:2], POOL[:1]),
    "given back by another type": (service("a", 1, POOL[:1], kind="ClusterIP"), []),
    "of others, and left alone": (service("a", 1, ["192.0.2.1"], kind="NodePort"), ["192.0.2.1"]),
    "asked for and given": (service("a", loadBalancerIP="10.0.0.3"), POOL[2:]),
    "lost by one that is served no more": (service("a", 1, POOL[:1], **LOCAL), []),
}


@pytest.mark.parametrize("case", ADDRESSES)
def test_an_address_is(case):
    count = len(ADDRESSES[case]) // 2
    api = Api(*ADDRESSES[case][:count])
    made(api)[0].round()
    assert list(api.addresses().values()) == list(ADDRESSES[case][count:])


@pytest.mark.parametrize(
    ("spec", "others", "reason"),
    [
        ({"loadBalancerIP": "10.9.9.9"}, [], "10.9.9.9 is not one of 10.0.0.1 to 10.0.0.3"),
        ({"loadBalancerIP": "10.0.0.2"}, [service("first", 0, ["10.0.0.2"])], "10.0.0.2 is held by x/first"),
        (LOCAL, [], "use Cluster"),
        ({}, [service(f"s{i}", 0, [a]) for i, a in enumerate(POOL)], "all 3 addresses, 10.0.0.1 to 10.0.0.3"),
    ],
)
def test_who_gets_none_is_reported_why_once(spec, others, reason):
    api = Api(service("it", 9, **spec), *others)
    one, report = made(api)
    one.round()
    one.round()
    assert api.addresses()["it"] == []
    assert len(api.events) == len(report) == 1
    assert reason in api.events[0]


def test_the_second_node_waits_for_the_first():
    clock = Clock(100.0)
    api = Api(service("it"))
    one, _ = made(api, turn=1, clock=clock)
    assert one.round() == 5
    assert api.addresses() == {"it": []}
    clock.now += 5
    one.round()
    assert api.addresses() == {"it": ["10.0.0.1"]}


def test_a_service_that_changed_meanwhile_is_left_to_the_next_round():
    api = Api(service("it"))
    stale = service("it")
    api.services["x/it"]["metadata"]["resourceVersion"] = "7"
    one, report = made(api, listed=[stale])
    one.round()
    assert (api.addresses(), report) == ({"it": []}, [])


def test_what_the_api_refuses_is_reported():
    api = Api(service("it"))
    api.status = 403
    one, report = made(api)
    assert one.round() == 5
    assert report == ["x/it: no"]


def test_nothing_is_done_before_the_services_are_known():
    assert balancer.Balancer(Api(), lambda: None, POOL, 0).round() == 5


SOME = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["LoadBalancer", "LoadBalancer", "ClusterIP"]),
        st.lists(st.sampled_from([*POOL, "192.0.2.1"]), max_size=2),
        st.sampled_from([None, "10.0.0.2", "10.9.9.9"]),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=60)
@given(SOME)
def test_whatever_there_was_one_round_leaves_no_two_with_one_address_and_none_over(rows):
    services = [
        service(f"s{i}", at, has, kind, loadBalancerIP=ip) for i, (at, kind, has, ip) in enumerate(rows)
    ]
    api = Api(*services)
    one, _ = made(api)
    one.round()
    ours = [s for s in api.services.values() if balancer.wants(s)]
    held = [a for s in ours for a in balancer.given(s)]
    assert len(held) == len(set(held))
    assert set(held) <= set(POOL)
    waiting = [s for s in ours if not balancer.given(s) and not s["spec"]["loadBalancerIP"]]
    assert not waiting or set(held) == set(POOL)
    assert balancer.assign(list(api.services.values()), POOL)[0] == {}


class Listed:
    """An API with one list and the changes since."""

    def __init__(self, changes):
        self.changes, self.asked = list(changes), []

    def call(self, method, path, body=None):
        return {"metadata": {"resourceVersion": "5"}, "items": [service("a")]}

    def watch(self, path, since, seconds):
        self.asked.append(since)
        if not self.changes:
            raise balancer.ApiError(410, "too old")
        yield self.changes.pop(0)


def test_services_are_listed_once_and_then_followed():
    added, gone = service("b"), service("a")
    added["metadata"]["resourceVersion"], gone["metadata"]["resourceVersion"] = "6", "7"
    api = Listed([{"type": "ADDED", "object": added}, {"type": "DELETED", "object": gone}])
    changed = threading.Event()
    services = balancer.Services(api, changed)
    assert services.all() is None
    with pytest.raises(balancer.ApiError):
        services.follow()
    assert [s["metadata"]["name"] for s in services.all()] == ["b"]
    assert api.asked == ["5", "6", "7"]
    assert changed.is_set()


def test_a_watch_that_lost_count_ends_so_that_the_list_is_read_again():
    error = {"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}
    with pytest.raises(balancer.ApiError) as seen:
        balancer.Services(Listed([error]), threading.Event()).follow()
    assert seen.value.status == 410
