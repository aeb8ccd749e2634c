"""The platform's runs on nodes, asked as an administrator: the way is renewed before its token ends, and after a refusal."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from ava.client import ApiError
from ava.domain.problems import Problem
from ava.schemas.node_drains import NodeRunsOut
from avadm.errors import AvadmError
from avadm.kube.node_runs import Notice
from avadm.platform_users import connect
from avadm.platform_users.node_drains import RENEW_S, NodeDrains

RUN = {
    "id": "r1",
    "kind": "training",
    "name": "mnist",
    "owner": "ann",
    "group": "vision",
    "namespace": "ava-vision",
    "pods": ["r1-0-worker-0"],
    "admitted": "2026-11-28T12:00:00Z",
    "started": "2026-11-28T12:01:00Z",
    "stop": None,
    "leaves": None,
    "consented": False,
}

DRAIN = {
    "asked_by": "root2",
    "begun": "2026-11-28T12:00:00Z",
    "until": "2026-11-28T12:30:00Z",
    "runs_until": None,
}


class Client:
    def __init__(self):
        self.asked, self.refuses, self.drain = [], False, None

    def node(self, name):
        self.asked.append(("node", name))
        if self.refuses:
            raise ApiError(401, Problem("not-logged-in", "Authentication required.", "token"))
        found = {"cluster": "default", "node": name, "drain": self.drain, "runs": [RUN]}
        return NodeRunsOut.model_validate(found)

    def drain_node(self, name, **more):
        self.asked.append(("drain", name, more))

    def undrain_node(self, name):
        self.asked.append(("undrain", name))


@pytest.fixture
def ways(monkeypatch):
    made = []

    @contextmanager
    def administrator(file, fleet, name):
        made.append(SimpleNamespace(ava=Client(), name=name, open=True))
        try:
            yield made[-1]
        finally:
            made[-1].open = False

    monkeypatch.setattr(connect, "administrator", administrator)
    return made


def test_what_is_asked_and_answered(ways):
    with NodeDrains(None, None, "root2") as nodes:
        assert ways == []
        found = nodes.node("comp1")
        (run,) = found.runs
        assert found.until is None
        assert (run.identity, run.owner, run.stopping) == (("ava-vision", "r1"), "ann", False)
        assert run.since.minute == 1
        ways[0].ava.drain = DRAIN
        assert nodes.node("comp1").until.isoformat() == "2026-11-28T12:30:00+00:00"
        nodes.begin("comp1", Notice(60, True))
        nodes.withdraw("comp1")
    (way,) = ways
    assert (way.name, way.open) == ("root2", False)
    assert way.ava.asked[2:] == [("drain", "comp1", {"notice": 60, "stop_runs": True}), ("undrain", "comp1")]


def test_another_token_is_made_before_the_first_ends(ways):
    now = 0.0
    with NodeDrains(None, None, None, lambda: now) as nodes:
        nodes.node("comp1")
        now = RENEW_S
        nodes.node("comp1")
        assert len(ways) == 1
        now = RENEW_S + 1
        nodes.node("comp1")
        assert [way.open for way in ways] == [False, True]


def test_what_the_platform_refuses_is_a_finding_and_the_next_question_enters_again(ways):
    with NodeDrains(None, None, None) as nodes:
        nodes.node("comp1")
        ways[0].ava.refuses = True
        with pytest.raises(AvadmError) as caught:
            nodes.node("comp1")
        assert [f.check for f in caught.value.findings] == ["not-logged-in"]
        assert nodes.node("comp1")
    assert [way.open for way in ways] == [False, False]
