"""The tool that tries quotas and evictions: what it asks, waits for and tells."""

import io
import json
import math

import pytest
from limit_fakes import FakeApi, tool

from avadm_validation.suites.kubernetes.extract import kube_other_limits

TRIES = {
    "deployment": {},
    "budget": {"metadata": {"name": "evict"}},
    "namespace": "n",
    "label": "app%3Devict",
}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda s: None)


def records(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_pod_is_asked_for_again_while_the_use_of_its_quota_is_not_known():
    class Late(FakeApi):
        asked = 0

        def admit(self, pod):
            self.asked += 1
            self.unknown = self.asked < 3
            return super().admit(pod)

    api = Late()
    api.hard["accept"] = {"requests.cpu": "200m", "requests.memory": "192Mi"}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"requests": {"cpu": "1m"}}}]}}
    assert tool().ask_for(api, "/pods", pod, 1e12)["status"] == 201
    assert api.asked == 3
    api.asked = 0
    assert "status unknown" in tool().ask_for(api, "/pods", pod, 0)["message"]


def test_the_pod_beyond_the_budget_is_tried_again_when_the_budget_gives(capsys):
    tool().evict(FakeApi(), {**TRIES, "limit_s": 5})
    (doc,) = records(capsys)
    assert [(t["name"], t["status"]) for t in doc["tries"]] == [
        ("evict-a", 201),
        ("evict-b", 429),
        ("evict-b", 201),
    ]
    assert doc["seen"][0] == ["evict-b"] and doc["beside"] == 1
    assert doc["gone_s"].keys() == {"evict-a", "evict-b"}


def test_an_api_server_that_does_not_answer_is_no_pod_that_is_gone(capsys):
    class Away(FakeApi):
        looks = 0

        def listed(self):
            self.looks += 1
            return super().listed()

        def ask(self, method, path, body=None):
            if "labelSelector" in path and self.looks == 1:
                self.looks += 1
                return 0, {"message": "timed out"}
            return super().ask(method, path, body)

    tool().evict(Away(), {**TRIES, "limit_s": 5})
    (doc,) = records(capsys)
    assert min(len(ready) for ready in doc["seen"]) == 1
    assert [t["status"] for t in doc["tries"]] == [201, 429, 201]


def test_no_one_is_evicted_while_fewer_than_two_pods_are_ready(capsys):
    class Empty(FakeApi):
        def listed(self):
            return []

    tool().evict(Empty(), {**TRIES, "limit_s": 0})
    (doc,) = records(capsys)
    assert (doc["pods"], doc["tries"], doc["seen"]) == ([], [], [])


def test_a_kubelet_that_does_not_answer_is_reported_with_why(capsys):
    api = FakeApi()
    api.silent.add("n1")
    tool().kubelets(api, {"nodes": ["n0", "n1"], "limit_s": 0})
    good, bad = records(capsys)
    assert good["kept"].keys() == {"evictionHard", "kubeReserved", "systemReserved"}
    assert (bad["kept"], bad["status"]) == (None, 503) and "refused" in bad["message"]


def test_a_kubelet_that_is_busy_is_asked_again(capsys):
    class Busy(FakeApi):
        def configz(self, node):
            self.asked = getattr(self, "asked", 0) + 1
            return (503, {"message": "TLS handshake timeout"}) if self.asked < 3 else super().configz(node)

    tool().kubelets(Busy(), {"nodes": ["n0"], "limit_s": 30})
    (only,) = records(capsys)
    assert only["status"] == 200 and only["kept"] is not None


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ({"a": "1", "b": "1"}, 0),
        ({"a": "1", "b": "2"}, 1),
        ({"a": "1", "b": None}, math.nan),
        ({"a": "2", "b": None}, 1),
    ],
)
def test_limits_of_a_kubelet_that_reported_none_are_not_known(kept, found):
    lines = "\n".join(
        json.dumps({"node": n, "status": 503 if v is None else 200, "kept": v and {"evictionHard": {"m": v}}})
        for n, v in kept.items()
    )
    wanted = json.dumps(list(kept))
    value = kube_other_limits({"kept": [lines], "wanted": [wanted]}, {"evictionHard": "m=1"})
    assert value == found or (math.isnan(value) and math.isnan(found))


def test_an_answer_that_is_no_json_is_reported_as_it_is(monkeypatch):
    module = tool()
    api = module.Api.__new__(module.Api)

    class Answer:
        status = 503
        read = staticmethod(io.BytesIO(b"Error: 'dial tcp'").read)

    monkeypatch.setattr(api, "open", lambda *args: Answer(), raising=False)
    assert api.ask("GET", "/x") == (503, {"message": "Error: 'dial tcp'"})
