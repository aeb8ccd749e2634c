"""AVA as its upgrade asks it over ssh: which functions are called where, and what of the replies counts as an answer."""

import json
import shlex

import pytest

from avadm.artifacts.manifest import manifest
from avadm.artifacts.store import ArtifactStore, CachedFile, Record
from avadm.cluster.connection import Cluster
from avadm.operations import ava_platform as module
from avadm.operations.ava_platform import AvaPlatform, Manifests, Pod, Release, Seen, unready
from avadm.remote.reason import Reason, Why
from avadm.site.load import load
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.fakes.errors import refused
from tests.unit.fakes.nodes import answer, called, given
from tests.unit.operations.test_upgrade_ava import SITE

TAG = "0.1.0-aaaaaaaaaaaa"
WAY = {"status": 200, "said": ""}
POD = {
    "name": "api-0",
    "part": "api",
    "image": f"reg.t.test:5000/avadm/ava:{TAG}",
    "ready": True,
    "ending": False,
    "version": "0.1.0-x",
    "figures": {},
    "why": "",
}
RAN = {
    "deployed": {"api": {"image": POD["image"], "pods": 2}},
    "pods": [POD],
    "leases": [
        {"ava-operator": ["a", 1], "ava-scheduler": None},
        {"ava-operator": ["a", 2], "ava-scheduler": None},
    ],
    "way": WAY,
}


class Fleet:
    """Nodes that reply to functions and commands with what a test says; a dead one replies nothing."""

    def __init__(self):
        self.replies, self.dead, self.asked = {}, set(), []

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.dead:
            return answer(node, command, rc=255, error=Reason(Why.NO_ROUTE, "no route"))
        name = called(stdin) if stdin is not None else shlex.split(command)[0]
        self.asked.append((node, name, given(stdin) if stdin is not None else command))
        reply = self.replies.get((node, name), self.replies.get(name))
        if isinstance(reply, tuple):
            return answer(node, command, "", 1, reply[0])
        return answer(node, command, reply if isinstance(reply, str) else json.dumps(reply))

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: self.run(n, c, timeout=timeout) for n, c in commands.items()}

    def close(self, nodes=None):
        pass


@pytest.fixture
def fleet():
    return Fleet()


@pytest.fixture
def ava(tmp_path, fleet, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "site.yml"
    path.write_text(SITE)
    return AvaPlatform(Cluster(load(path), fleet, SiteState.of(path, "t")), ArtifactStore(tmp_path / "store"))


def test_the_newest_is_the_image_in_the_cache_by_its_id(ava, tmp_path):
    assert ava.newest() is None
    assert {f.check for f in ava.missing()} == {"artifact-missing"}
    artifact = manifest()["ava-image"]
    folder = ava.store.folder(artifact)
    folder.mkdir(parents=True)
    file = CachedFile(
        sha256="0" * 64, size=0, image="avadm/ava:x", image_id="sha256:" + "0123456789abcdef" * 4
    )
    record = Record(
        name="ava-image",
        version=artifact.version,
        source="build",
        made="x",
        seconds=1,
        files={"image.tar": file},
    )
    (folder / "artifact.json").write_text(record.model_dump_json())
    (folder / "image.tar").write_bytes(b"")
    assert ava.newest() == Release("0.1.0-0123456789ab", artifact.version)
    assert ava.newest().number == "0.1.0"


def test_what_masters_report_is_read_and_the_first_that_answers_is_enough(ava, fleet):
    fleet.dead = {"m1"}
    fleet.replies["ava.processes.ask"] = RAN
    seen = ava.seen()
    assert seen.deployed == {"api": TAG} and seen.wanted == {"api": 2} and seen.way == ""
    assert seen.leases == {"ava-operator": "", "ava-scheduler": "no process has it"}
    assert (seen.pods[0].tag, seen.pods[0].version) == (TAG, "0.1.0-x")
    (node, _, params) = fleet.asked[-1]
    assert node == "m2" and params["silent"] == ["jump"] and "ava_operator_leader" in params["series"]


@pytest.mark.parametrize("reply", [{}, [], {**RAN, "pods": [{}]}, {**RAN, "leases": None}, "no JSON"])
def test_a_reply_of_another_shape_is_no_answer(ava, fleet, reply):
    fleet.replies["ava.processes.ask"] = reply
    found = refused(ava.seen)
    assert {f.check for f in found} == {"ava-command"} and len(found) == 3


def test_a_lease_that_is_not_renewed_is_held_by_none(ava, fleet):
    stale = {"ava-operator": ["a", 1], "ava-scheduler": ["b", 1]}
    fleet.replies["ava.processes.ask"] = {
        **RAN,
        "leases": [stale, stale],
        "way": {"status": 0, "said": "refused"},
    }
    seen = ava.seen()
    assert all("does not renew" in why for why in seen.leases.values()) and seen.way == "refused"


def test_the_primary_is_asked_for_the_database(ava, fleet, monkeypatch):
    monkeypatch.setattr(module.DatabaseMembers, "leader", lambda self: "w2")
    fleet.replies["ava.database.ask"] = {"recovery": False, "bytes": 7, "revision": "0002", "free": 9}
    state = ava.database()
    assert (state.node, state.revision, state.size, state.free) == ("w2", "0002", 7, 9)
    fleet.replies["ava.database.dump"] = {"path": "/x.dump", "bytes": 5, "tables": 3}
    assert ava.dump(state) == "w2:/x.dump (5 bytes, 3 tables)"
    assert fleet.asked[-1][2] == {"database": "ava", "revision": "0002"}
    monkeypatch.setattr(module.DatabaseMembers, "leader", lambda self: "")
    assert refused(ava.database)[0].check == "ava-command"


def test_a_database_without_tables_is_no_revision(ava, fleet, monkeypatch):
    monkeypatch.setattr(module.DatabaseMembers, "leader", lambda self: "w2")
    fleet.replies["ava.database.ask"] = {"recovery": False, "bytes": 7, "revision": None, "free": 9}
    assert refused(ava.database)[0].check == "ava-command"


def test_dumps_of_all_nodes_count_from_when_the_upgrade_began(ava, fleet):
    fleet.replies["w1", "ava.database.dumps"] = {"dumps": [["0001", 5000.0], ["0002", 9000.0]]}
    fleet.replies["w2", "ava.database.dumps"] = {"dumps": [["0003", 7000.0]]}
    assert ava.dumped(5000.0) == ["0001", "0003", "0002"]
    assert ava.dumped(6000.0) == ["0003", "0002"]
    fleet.dead = {"w1", "w2"}
    assert ava.dumped(0.0) == []


def test_manifests_are_asked_of_each_master(ava, fleet):
    fleet.dead = {"m3"}
    fleet.replies["ava.manifests.ask"] = {"written": TAG, "kept": [TAG]}
    assert ava.manifests() == {"m1": Manifests(TAG, [TAG]), "m2": Manifests(TAG, [TAG])}
    fleet.replies["m1", "ava.manifests.keep"] = {"kept": True}
    fleet.replies["m2", "ava.manifests.keep"] = {"kept": False}
    assert ava.keep(TAG) == ["m1"]


@pytest.mark.parametrize(
    ("reply", "there"),
    [
        (json.dumps({"config": {"digest": "sha256:aaaaaaaaaaaa" + "0" * 52}}), True),
        (json.dumps({"config": {"digest": "sha256:bbbbbbbbbbbb" + "0" * 52}}), False),
        (("manifest unknown",), False),
    ],
)
def test_the_registry_has_an_image_by_its_digest(ava, fleet, reply, there):
    fleet.replies["r1", "skopeo"] = reply
    assert ava.pushed(TAG) == {"r1": there}
    assert fleet.asked[-1][2].endswith(f"docker://127.0.0.1:5002/avadm/ava:{TAG}")


@pytest.mark.parametrize("reply", [("connection refused",), "{}", "rubbish"])
def test_a_registry_that_cannot_be_asked_has_not_lost_the_image(ava, fleet, reply):
    fleet.replies["r1", "skopeo"] = reply
    assert refused(ava.pushed, TAG)[0].check == "ava-command"


@pytest.fixture
def ran(monkeypatch):
    found = []

    def run(cluster, site_file, steps, request, tell, **more):
        found.append(
            (site_file.profile.versions["ava"], [s.name for s in steps], steps[0].hosts, request, more)
        )

    monkeypatch.setattr(module, "run_phases", run)
    return found


def test_only_avas_phase_runs_and_only_on_its_nodes(ava, ran):
    ava.roll(["m1", "r1"], "avadm upgrade ava", print)
    ava.migrate(Release("0.0.9-x"), ["m1", "r1"], "avadm upgrade ava", print)
    ava.restore(Release(TAG), "m2", "avadm upgrade ava", print)
    assert [one[1] for one in ran] == [["ava"]] * 3
    assert [set(one[2]) for one in ran] == [{"m1", "r1"}, {"m1", "r1"}, {"m2"}]
    assert [one[3].own["m1" if "m1" in one[3].own else "m2"] for one in ran] == [
        {},
        {"ava_roll": False},
        {"ava_restore": f"/var/lib/avadm/ava/{TAG}"},
    ]
    # What runs after the phase is judged by the version that shall run then.
    assert [one[0] for one in ran] == ["0.1.0", "0.0.9", "0.1.0"]


def test_nodes_that_do_not_answer_are_left_out(ava, fleet):
    fleet.dead = {"w2"}
    assert ava.nodes() == ["m1", "m2", "m3", "r1", "w1"]


def test_a_phase_that_did_not_end_is_not_settled(ava):
    state = ava.cluster.state
    state.start("ava", {"m1": "d", "m2": "d"}, "r")
    state.finish("ava", {"m1": PhaseState.DONE})
    assert ava.settled(["m1"]) and not ava.settled(["m1", "m2"])


def pod(name, ready=True, why="", ending=False):
    return Pod(name, name[:-2], TAG, ready, ending, "", {}, why)


@pytest.mark.parametrize(
    ("pods", "all_wrong", "one_wrong"),
    [
        ([pod("api-1"), pod("api-2"), pod("gate-1"), pod("gate-2")], [], []),
        ([pod("api-1"), pod("gate-1"), pod("gate-2")], ["api: 1 of 2 pods ready"], []),
        (
            [pod("api-1"), pod("api-2", why="no answer"), pod("gate-1"), pod("gate-2")],
            ["api-2: no answer"],
            [],
        ),
        (
            [pod("api-1", why="no answer"), pod("gate-1"), pod("gate-2")],
            ["api: 1 of 2 pods ready", "api-1: no answer"],
            ["api-1: no answer"],
        ),
        (
            [pod("api-1", ready=False), pod("api-2", ending=True), pod("gate-1"), pod("gate-2")],
            ["api: 0 of 2 pods ready"],
            ["api: no pod is ready"],
        ),
        ([pod("api-1"), pod("api-2")], ["gate: 0 of 2 pods ready"], []),
    ],
)
def test_all_pods_have_to_answer_or_one_of_each_part_that_counts(pods, all_wrong, one_wrong):
    seen = Seen(dict.fromkeys(["api", "gate"], TAG), {"api": 2, "gate": 2}, pods, {})
    assert unready(["api"], seen) == all_wrong
    assert unready(["api"], seen, one=True) == one_wrong


def test_leases_count_with_their_part_and_the_way_in_always():
    seen = Seen({"api": TAG}, {"api": 1}, [pod("api-1")], {"ava-operator": "no process has it"}, "refused")
    assert unready(["api"], seen) == ["ava-operator: no process has it", "users do not get in: refused"]
    assert unready(["api"], seen, one=True) == ["users do not get in: refused"]
    assert unready(["api", "operator"], seen, one=True) == [
        "operator is not deployed",
        "ava-operator: no process has it",
        "users do not get in: refused",
    ]
    stopped = Seen({"api": TAG}, {"api": 0}, [], {})
    assert unready(["api"], stopped) == unready(["api"], stopped, one=True) == []
