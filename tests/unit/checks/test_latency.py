"""Which pairs are measured, and whom the findings name when some of them are bad."""

from collections import Counter
from dataclasses import replace
from math import log2

import pytest

from avadm.checks.peers import ALL_PAIRS, peers
from avadm.checks.preflight import CHECKS
from avadm.site.model import Network, Node
from tests.unit.checks.conftest import way

NET = Network.model_validate({"management": "10.0.0.0/22", "storage": "10.1.0.0/22", "domain": "t.example"})


def nodes(count, storage=0):
    made = []
    for i in range(count):
        last = f"{i // 250}.{i % 250 + 1}"
        more = {"storage_address": f"10.1.{last}"} if i < storage else {}
        made.append(Node.model_validate({"name": f"n{i:03}", "address": f"10.0.{last}", **more}))
    return made


@pytest.mark.parametrize("count", [1, 2, 3, 4, ALL_PAIRS - 1, ALL_PAIRS])
def test_a_small_site_measures_each_pair_once(count):
    pairs = [frozenset((name, p.name)) for name, asked in peers(nodes(count), NET).items() for p in asked]
    assert len(pairs) == len(set(pairs)) == count * (count - 1) // 2


@pytest.mark.parametrize("count", [18, 31, 64, 255, 256])
def test_a_large_site_measures_log_n_pairs_at_each_node(count):
    asked = peers(nodes(count), NET)
    pairs = [frozenset((name, p.name)) for name, some in asked.items() for p in some]
    assert len(pairs) == len(set(pairs))
    assert max(map(len, asked.values())) <= log2(count)
    assert min(Counter(n for pair in pairs for n in pair).values()) >= 2 * int(log2(count)) - 1


def test_the_storage_network_has_a_ring_of_its_own_with_its_frame_size():
    asked = peers(nodes(5, storage=2), NET.model_copy(update={"storage_mtu": 9000}))
    storage = [(name, p.name, p.size) for name, some in asked.items() for p in some if p.network == "storage"]
    assert storage == [("n000", "n001", 9000)]


@pytest.fixture
def fleet(context):
    """Return a judge of 64 nodes whose way between two takes what a function says."""

    def judge(ms, check="latency", **values):
        made = nodes(64)
        facts = {}
        for name, some in peers(made, NET).items():
            reports = [
                {k: v(name, p.name) for k, v in values.items()} | {"ms": [ms(name, p.name)] * 10}
                for p in some
            ]
            facts[name] = {"peers": [way(p.name, **more) for p, more in zip(some, reports, strict=True)]}
        return next(c for c in CHECKS if c.id == check).judge(replace(context, nodes=made, facts=facts))

    return judge


def quiet(first, second):
    return 0.1 + (hash((first, second)) % 20) / 1000


def test_a_bad_node_is_named_once_with_all_its_pairs(fleet):
    found = fleet(lambda a, b: 1.5 if "n007" in (a, b) else quiet(a, b))
    assert [(f.host, str(f.severity)) for f in found] == [("n007", "warning")]
    assert found[0].found.startswith("11 of its 11 pairs: ")


def test_a_bad_way_between_two_good_nodes_is_reported_by_pair(fleet):
    found = fleet(lambda a, b: 1.5 if {a, b} == {"n007", "n008"} else quiet(a, b))
    assert [(f.host, f.found) for f in found] == [(None, "n007–n008 1.50 ms")]


def test_racks_farther_apart_are_no_finding(fleet):
    assert fleet(lambda a, b: 0.1 if int(a[1:]) // 16 == int(b[1:]) // 16 else 0.3) == []


def test_two_bad_nodes_are_both_named(fleet):
    found = fleet(quiet, "path-mtu", full=lambda a, b: "lost" if {"n007", "n020"} & {a, b} else "passed")
    assert sorted(f.host for f in found) == ["n007", "n020"]


def test_ways_to_a_node_that_could_not_be_asked_are_left_to_reachability(context):
    facts = {k: v for k, v in context.facts.items() if k != "stor2"}
    for fact in (p for f in facts.values() for p in f["peers"] if p["name"] == "stor2"):
        fact.update(ms=[], full="lost")
    check = next(c for c in CHECKS if c.id == "latency")
    assert check.judge(replace(context, facts=facts)) == []
