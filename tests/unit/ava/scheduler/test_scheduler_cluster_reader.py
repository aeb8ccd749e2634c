"""Nodes and pods are read as Kubernetes means them; what cannot be read never makes room."""

from __future__ import annotations

import pytest

from ava.domain import labels
from ava.domain.placement.model import Requirement, Taint, Toleration
from ava.domain.resources import Resources
from ava.scheduler import cluster_reader
from ava.scheduler.cluster_reader import quantity
from tests.unit.ava.scheduler.builders import node, pod


@pytest.mark.parametrize(
    ("text", "times", "value"),
    [
        ("2", 1000, 2000),
        ("100m", 1000, 100),
        ("0.1", 1000, 100),
        ("1.5Gi", 1, 3 * 2**29),
        ("1e3", 1, 1000),
        ("1E", 1, 10**18),
        ("12k", 1, 12_000),
        ("128974848", 1, 128_974_848),
        ("1u", 1000, 1),
        ("2500m", 1, 3),
        (8, 1, 8),
        ("-1", 1, -1),
    ],
)
def test_amounts(text: str, times: int, value: int) -> None:
    assert quantity(text, times=times) == value


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "1GiB", "Gi", "1e999", "0x10", "1..2", "９"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no amount"):
        quantity(text)


def test_a_node() -> None:
    thing = node("a", 4, kind="gpu", pods=50)
    thing["metadata"]["labels"][labels.MODEL] = "V100"
    found = cluster_reader.node(thing)
    assert (found.room, found.pods, found.model) == (Resources(4, 96_000, 512 * 2**30), 50, "V100")
    assert found.taints == (Taint(labels.GPU),)
    assert found.troubles == ()
    assert found.labels["kind"] == "gpu"


def test_the_model_of_nvidias_feature_discovery_is_known_too() -> None:
    thing = node("a", 4)
    thing["metadata"]["labels"]["nvidia.com/gpu.product"] = "P40"
    assert cluster_reader.node(thing).model == "P40"


@pytest.mark.parametrize(("label", "slots"), [("4", 4), ("1", 1), ("0", 1), ("-3", 1), ("many", 1), ("", 1)])
def test_how_many_may_share_a_card_is_a_label_and_nonsense_shares_nothing(label: str, slots: int) -> None:
    thing = node("a", 2)
    thing["metadata"]["labels"] = {labels.SLOTS: label}
    assert cluster_reader.node(thing).slots == slots


def test_a_node_in_trouble() -> None:
    thing = node("a", 4)
    thing["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown"},
        {"type": "DiskPressure", "status": "True"},
        {"type": "MemoryPressure", "status": "False"},
    ]
    assert cluster_reader.node(thing).troubles == ("NotReady", "DiskPressure")
    thing["status"]["conditions"] = []
    assert cluster_reader.node(thing).troubles == ("NotReady",), (
        "a node that does not say that it is ready is not"
    )


def test_a_node_that_says_nothing_or_nonsense_takes_nothing() -> None:
    bare = cluster_reader.node({"metadata": {"name": "a"}})
    assert (bare.room, bare.pods, bare.troubles) == (Resources(), 0, ("NotReady",))
    thing = node("a", 4)
    thing["status"]["allocatable"]["memory"] = "lots"
    assert cluster_reader.node(thing).room == Resources()
    assert "UnreadableAllocatable" in cluster_reader.node(thing).troubles


def test_a_pod_asks_for_the_sum_of_its_containers_or_its_largest_init_container() -> None:
    thing = pod("r", gpu=2, cpu="500m")
    spec = thing["spec"]
    spec["containers"].append({"name": "side", "resources": {"requests": {"cpu": "250m"}}})
    assert cluster_reader.asks(spec) == Resources(2, 750, 2**30)
    spec["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": "4", "memory": "1Mi"}}}]
    assert cluster_reader.asks(spec) == Resources(2, 4000, 2**30)


def test_limits_count_where_nothing_is_requested_and_nonsense_fits_nowhere() -> None:
    assert cluster_reader.asks({"containers": [{"resources": {"limits": {labels.GPU: "1"}}}]}).gpu == 1
    assert (
        cluster_reader.asks({"containers": [{"resources": {"requests": {"memory": "huge"}}}]}).memory > 2**50
    )
    assert cluster_reader.asks({"containers": [{"name": "x"}]}) == Resources()


def test_a_pod_of_the_operator() -> None:
    thing = pod("r", 3, gpu=2, size=4, **{labels.NODE: "n7", labels.MODEL: "V100", labels.POOL: "big"})
    thing["spec"]["nodeSelector"] = {"rack": "a"}
    thing["spec"]["affinity"] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]
            }
        }
    }
    thing["spec"]["containers"][0]["ports"] = [{"containerPort": 1}, {"containerPort": 2, "hostPort": 22}]
    found = cluster_reader.pod(thing, lambda gpu: "default")
    assert (found.size, found.index, found.priority, found.fixed) == (4, 3, 50_050, False)
    assert (found.where.pool, found.where.node, found.where.model) == ("big", "n7", "V100")
    assert found.where.selector == (("rack", "a"),)
    assert found.where.affinity == ((Requirement("k", "In", ("v",)),),)
    assert found.where.tolerations == (Toleration(labels.GPU, "Exists", "", "NoSchedule"),)
    assert found.ports == {("TCP", "", 22)}
    other = cluster_reader.pod(pod("r", 0, size=4), lambda gpu: "default")
    assert other.gang == found.gang
    assert other.where.pool == "default"


def test_pods_of_another_attempt_or_placed_alone_are_gangs_of_their_own() -> None:
    first, again = (cluster_reader.pod(pod("r", 0, size=4, attempt=n), str) for n in (0, 1))
    assert first.gang != again.gang
    alone = cluster_reader.pod(pod("r", 0, size=1), str)
    assert alone.gang == alone.key


@pytest.mark.parametrize("count", ["0", "-3", "x", ""])
def test_a_gang_of_nonsense_is_one_pod(count: str) -> None:
    thing = pod("r")
    thing["metadata"]["annotations"][labels.GANG] = count
    assert cluster_reader.pod(thing, str).size == 1


def test_only_pods_that_the_operator_made_in_the_groups_namespace_are_ours() -> None:
    assert labels.ours(pod("r"))
    for change in (
        {"namespace": "default"},
        {"labels": {labels.GROUP: "bench"}},
        {"labels": {labels.MANAGED: "true"}},
        {"labels": None},
    ):
        thing = pod("r")
        thing["metadata"] |= change
        assert not labels.ours(thing), change
        found = cluster_reader.pod(thing, str)
        assert found.fixed
        assert found.size == 1, "what others write on their pods is not believed"


@pytest.mark.parametrize(
    ("annotation", "disk"),
    [
        ('{"free": 3, "volumes": {}}', 3 * 2**20),
        (None, 0),
        ("", 0),
        ("{", 0),
        ("[]", 0),
        ('{"free": null}', 0),
        ('{"free": "x"}', 0),
    ],
)
def test_what_a_node_says_of_its_disk_is_read_or_is_nothing(annotation: str | None, disk: int) -> None:
    thing = node("a")
    if annotation is not None:
        thing["metadata"].setdefault("annotations", {})[labels.VOLUMES] = annotation
    assert cluster_reader.node(thing).disk == disk


def test_a_disk_counts_until_its_pod_runs_and_is_where_it_is() -> None:
    def disk(phase: str, notes: dict[str, str]) -> tuple[int, str | None, bool]:
        thing = pod("r1", on="a", phase=phase)
        thing["metadata"]["annotations"] |= notes
        found = cluster_reader.pod(thing, lambda gpu: "gpu")
        return found.disk, found.where.node, found.where.disk

    new = {labels.DISK: str(2**30), labels.NODE: "b"}
    assert disk("Pending", new) == (2**30, "b", False)
    assert disk("Running", new) == (0, "b", False)
    assert disk("Pending", {labels.DISK_NODE: "c", labels.NODE: "b"}) == (0, "c", True)
    assert disk("Pending", {labels.DISK: "much"}) == (0, None, False)
