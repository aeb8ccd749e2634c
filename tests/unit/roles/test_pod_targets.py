"""Which pods are scraped, where, and how the file of targets follows them."""

import json

import pytest

from avadm_node.agents import pod_targets
from tests.unit.fakes.clock import Clock

SERVER = "10.0.0.250:6443"


def thing(name, version="5", labels=None, **notes):
    about = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": version}
    about["annotations"] = {f"prometheus.io/{key}": value for key, value in notes.items()}
    return about | ({"labels": labels} if labels else {})


def pod(name="web", phase="Running", ports=(8080,), **more):
    containers = [{"name": "c", "ports": [{"containerPort": p} for p in ports]}]
    spec = {"nodeName": "comp1", "containers": containers}
    return {"metadata": thing(name, **more), "spec": spec, "status": {"phase": phase}}


def test_a_pod_that_asks_is_reached_through_the_api_server():
    made = pod_targets.target(pod(scrape="true", port="9102", path="/stats/prometheus"), SERVER)
    assert made == {
        "targets": [SERVER],
        "labels": {
            "__metrics_path__": "/api/v1/namespaces/shop/pods/web:9102/proxy/stats/prometheus",
            "instance": "shop/web:9102",
            "namespace": "shop",
            "pod": "web",
            "node": "comp1",
        },
    }


def test_without_port_and_path_it_is_the_first_port_and_metrics():
    labels = pod_targets.target(pod(scrape="true", ports=(8080, 9090)), SERVER)["labels"]
    assert labels["__metrics_path__"].endswith("/pods/web:8080/proxy/metrics")


@pytest.mark.parametrize(
    "one",
    [pod(), pod(scrape="false"), *(pod(scrape="true", phase=phase) for phase in ("Pending", "Succeeded"))],
    ids=["says nothing", "no", "starts", "is done"],
)
def test_others_are_left_alone(one):
    assert pod_targets.target(one, SERVER) is None


@pytest.mark.parametrize(
    "notes",
    [
        {"port": "0"},
        {"port": "70000"},
        {"port": "metrics"},
        {"port": "80/proxy/../../.."},
        {"path": "metrics"},
        {"path": "/../../../secrets"},
        {"path": "/a/./b"},
        {"path": "/%2e%2e/secrets"},
        {"path": "/metrics?x=1"},
        {"path": "/a\nb"},
        {"path": "//"},
    ],
    ids=str,
)
def test_an_annotation_never_leads_out_of_the_pod(notes):
    with pytest.raises(pod_targets.Skipped):
        pod_targets.target(pod(scrape="true", **notes), SERVER)


def test_a_pod_without_a_port_is_skipped_and_reported_of_once(tmp_path):
    reports = []
    targets = pod_targets.Targets(str(tmp_path / "pods.json"), SERVER, log=reports.append)
    for _ in range(3):
        targets.all([pod(scrape="true", ports=()), pod("other", scrape="true")])
        targets.write()
    assert [t["labels"]["pod"] for t in json.loads((tmp_path / "pods.json").read_text())] == ["other"]
    assert len(reports) == 1
    assert reports[0].startswith("shop/web: prometheus.io/port")


class Api:
    """The list, then each watch's events; what is asked for is noted."""

    def __init__(self, items, *watches):
        self.items, self.watches, self.asked = items, list(watches), []

    def call(self, method, path):
        return {"items": self.items, "metadata": {"resourceVersion": "7"}}

    def watch(self, path, since, seconds):
        self.asked.append(since)
        return iter(self.watches.pop(0))


def kept(path):
    return sorted(t["labels"]["pod"] for t in json.loads(path.read_text()))


def test_the_file_follows_pods_and_a_watch_goes_on_where_the_last_ended(tmp_path):
    path, seen = tmp_path / "pods.json", []

    def events(*changes):
        for kind, one in changes:
            seen.append(kept(path))
            yield {"type": kind, "object": one}

    asks = {"scrape": "true"}
    first = events(("ADDED", pod("c", version="8", **asks)), ("MODIFIED", pod("b", version="9", **asks)))
    failed = pod("c", "Failed", version="11", **asks)
    then = events(("DELETED", pod("a", version="10", **asks)), ("MODIFIED", failed))
    api = Api([pod("a", **asks), pod("b")], first, then, [{"type": "ERROR", "object": {"code": 410}}])
    pod_targets.follow(api, pod_targets.Targets(str(path), SERVER))
    assert seen == [["a"], ["a", "c"], ["a", "b", "c"], ["b", "c"]]
    assert kept(path) == ["b"]
    assert api.asked == ["7", "9", "11"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_pods_are_listed_again_after_a_while_whatever_the_watch_says(tmp_path):
    clock = Clock()

    def quiet():
        clock.now += 100
        yield from ()

    api = Api([pod("a", scrape="true")], *(quiet() for _ in range(10)))
    pod_targets.follow(api, pod_targets.Targets(str(tmp_path / "pods.json"), SERVER), clock=clock)
    assert len(api.asked) == 3


def test_the_file_is_written_again_while_nothing_changes_so_that_its_age_tells(tmp_path):
    clock = Clock()
    path = tmp_path / "pods.json"
    targets = pod_targets.Targets(str(path), SERVER, clock=clock)
    inodes = []
    for second in (0, 30, 59, 61):
        clock.now = second
        targets.write()
        inodes.append(path.stat().st_mtime_ns)
    assert inodes[0] == inodes[1] == inodes[2] < inodes[3]


WEB = {"app": "web"}


def service(selector=WEB, port=None, scrape="true"):
    ports = [{"port": 80, "targetPort": port}] if port else []
    notes = {"scrape": scrape} if scrape else {}
    return {"metadata": thing("front", **notes), "spec": {"selector": selector, "ports": ports}}


@pytest.mark.parametrize(
    ("own", "one", "wanted"),
    [
        ({}, service(), "web:8080/proxy/metrics"),
        ({}, service(port=9102), "web:9102/proxy/metrics"),
        ({"scrape": "true", "port": "7"}, service(), "web:7/proxy/metrics"),
        ({"scrape": "false"}, service(), None),
        ({}, service(scrape=""), None),
        ({}, service({"app": "other"}), None),
        ({}, service(None), None),
    ],
)
def test_a_service_that_asks_has_each_pod_of_it_asked_once(own, one, wanted):
    made = pod_targets.target(pod(labels={**WEB, "tier": "front"}, **own), SERVER, [one, one])
    assert (made and made["labels"]["__metrics_path__"].rpartition("/pods/")[2]) == wanted


def test_a_service_that_comes_later_is_followed(tmp_path):
    targets = pod_targets.Targets(str(tmp_path / "pods.json"), SERVER, log=lambda text: None)
    targets.all([pod(labels=WEB)])
    for services, count in (([service()], 1), ([], 0)):
        targets.serve(services)
        assert len(targets.found) == count
