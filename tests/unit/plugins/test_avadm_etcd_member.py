"""A member of etcd: when it may start, join, be replaced or leave, and when it must not."""

import json

import avadm_etcd_member as module
import pytest
from ansible.module_utils.avadm_etcd import Cluster

FILES = {"cacert": "/ca", "cert": "/cert", "key": "/key"}


def peer(number):
    return f"https://10.0.0.{number}:2380"


def client(number):
    return f"https://10.0.0.{number}:2379"


def seen(number, **more):
    """A member that has been at work."""
    urls = {"peerURLs": [peer(number)], "clientURLs": [client(number)]}
    return {"ID": number, "name": f"m{number}", **urls, **more}


class Etcd:
    """A cluster as etcdctl and systemctl show it; a member that is started publishes its name and client URL."""

    def __init__(self, *members, down=(), learners=True, behind=0, answers=True, unsettled=0):
        self.members = list(members)
        self.unsettled = unsettled
        self.down = {client(n) for n in down}
        self.learners = learners
        self.behind = behind
        self.answers = answers
        self.leader = members[0]["ID"] if members else 0
        self.done = []

    def __call__(self, argv):
        if argv[0] == "systemctl":
            return self.systemctl(argv[1:])
        url, words = argv[2], [w for w in argv[5:] if not w.startswith(("--ca", "--cert", "--key"))]
        if not self.answers or url in self.down:
            return 1, "", "refused"
        kind = " ".join(words[:2])
        if kind == "endpoint health":
            return 0, "", ""
        if kind == "endpoint status":
            return 0, json.dumps([{"Status": {"leader": self.leader}}]), ""
        if kind == "member list":
            return 0, json.dumps({"header": {"cluster_id": 0xC1}, "members": self.members}), ""
        if words[1] in ("add", "remove") and self.unsettled:
            self.unsettled -= 1
            return 1, "", "Error: etcdserver: unhealthy cluster"
        if "--learner" in words and not self.learners:
            return 1, "", "Error: unknown flag: --learner"
        if kind == "member promote" and self.behind:
            self.behind -= 1
            return 1, "", "can only promote a learner member which is in sync with leader"
        self.done.append(" ".join(words))
        self.change(words)
        return 0, "", ""

    def change(self, words):
        if words[1] == "add":
            url = words[3].partition("=")[2]
            self.members.append({"ID": 99, "peerURLs": [url], "isLearner": "--learner" in words})
        elif words[1] == "remove":
            self.members = [m for m in self.members if f"{m['ID']:x}" != words[2]]
        elif words[1] == "promote":
            self.members[-1].pop("isLearner")

    def systemctl(self, words):
        if words[0] == "start":
            self.done.append("start")
            new = self.members[-1]
            number = new["peerURLs"][0].split(".")[-1].split(":")[0]
            new.update(name=f"m{number}", clientURLs=[client(number)])
        return 0, "", ""


THREE = [seen(1), seen(2), seen(3)]


def unreachable(url, files):
    """No peer port is open, as before a first installation."""
    return


def ensure(tmp_path, etcd, number=3, *, check=False, ask=unreachable, **more):
    given = {
        "peer_cacert": None,
        "peer_cert": None,
        "bootstrapped": {},
        "again": False,
        "marks": str(tmp_path / "founded"),
        **FILES,
        "name": f"m{number}",
        "data_dir": str(tmp_path / "data"),
        "peer_url": peer(number),
        "first": {"m1": peer(1), "m3": peer(3)},
        "replace": False,
        "timeout": 10,
        "file": str(tmp_path / "run/bootstrap"),
        **more,
    }
    cluster = Cluster(etcd, [client(1), client(2)], FILES, lambda seconds: None)
    return module.Member(given, cluster, check, lambda seconds: None, ask).ensure()


def refused(tmp_path, etcd, why, **more):
    """Nothing is done and no one started, for this reason."""
    with pytest.raises(module.MemberError, match=why):
        ensure(tmp_path, etcd, **more)
    assert etcd.done == []
    assert not (tmp_path / "run").exists()


QUORUM = r"1 of 2, at least 2 are needed \(not healthy: m2\)"
REFUSED = {
    "etcd never settles": (Etcd(seen(1), seen(2), unsettled=1000), "unhealthy cluster"),
    "another is not healthy": (Etcd(seen(1), seen(2), down=[2]), r"m2 \(1 of 2 are healthy\)"),
    "another is just joining": (Etcd(seen(1), seen(2, isLearner=True)), "is just joining etcd: m2"),
    "old etcd has too few": (Etcd(seen(1), learners=False), r"the 1 members .* fewer than the 2 .*etcd 3\.4"),
    "it lost its data": (Etcd(*THREE, down=[3]), r"ID 3\).*etcd-replace\.yml with -e member=m3"),
    "the others have no quorum": (Etcd(*THREE, down=[2, 3]), QUORUM, {"replace": True}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_no_one_is_started_where(tmp_path, case):
    etcd, why, *more = REFUSED[case]
    refused(tmp_path, etcd, why, **dict(*more))


def test_who_joins_right_after_another_waits_until_etcd_has_settled(tmp_path):
    etcd = Etcd(seen(1), seen(2), unsettled=6)
    assert ensure(tmp_path, etcd) == (True, "joined")
    assert etcd.done[0] == f"member add m3 --peer-urls={peer(3)} --learner"


def with_data(tmp_path):
    log = tmp_path / "data/member/wal/0-0.wal"
    log.parent.mkdir(parents=True)
    log.touch()


def bootstrap(tmp_path):
    return dict(line.split("=", 1) for line in (tmp_path / "run/bootstrap").read_text().splitlines())


@pytest.mark.parametrize(
    "etcd",
    [Etcd(answers=False), Etcd(seen(1), {"ID": 3, "name": "m3", "peerURLs": [peer(3)]})],
    ids=["no server answers", "of the first list, never seen"],
)
def test_a_founder_starts_with_all_founders(tmp_path, etcd):
    assert ensure(tmp_path, etcd) == (True, "new")
    assert bootstrap(tmp_path) == {
        "ETCD_INITIAL_CLUSTER_STATE": "new",
        "ETCD_INITIAL_CLUSTER": f"m1={peer(1)},m3={peer(3)}",
    }
    assert etcd.done == []


def test_a_new_member_gets_the_data_before_it_votes(tmp_path):
    etcd = Etcd(seen(1), seen(2), behind=2)
    assert ensure(tmp_path, etcd) == (True, "joined")
    assert etcd.done == [f"member add m3 --peer-urls={peer(3)} --learner", "start", "member promote 63"]
    assert bootstrap(tmp_path) == {
        "ETCD_INITIAL_CLUSTER_STATE": "existing",
        "ETCD_INITIAL_CLUSTER": f"m1={peer(1)},m2={peer(2)},m3={peer(3)}",
    }


def test_joining_goes_on_where_it_was_stopped(tmp_path):
    expected = Etcd(seen(1), {"ID": 99, "peerURLs": [peer(3)], "isLearner": True})
    assert ensure(tmp_path, expected) == (True, "joined")
    assert expected.done == ["start", "member promote 63"]
    with_data(tmp_path)
    learning = Etcd(seen(1), seen(3, isLearner=True))
    assert ensure(tmp_path, learning) == (True, "data")
    assert learning.done == ["start", "member promote 3"]


def test_a_member_that_never_gets_the_data_is_reported(tmp_path):
    why = r"m3 did not come to vote .* in sync with leader.*journalctl"
    with pytest.raises(module.MemberError, match=why):
        ensure(tmp_path, Etcd(seen(1), seen(2), behind=10**6))


def test_old_etcd_adds_a_member_with_enough_for_the_larger_quorum(tmp_path):
    etcd = Etcd(seen(1), seen(2), learners=False)
    assert ensure(tmp_path, etcd) == (True, "joined")
    assert etcd.done == [f"member add m3 --peer-urls={peer(3)}", "start"]


def test_a_member_with_data_starts_with_it(tmp_path):
    with_data(tmp_path)
    etcd = Etcd(seen(1), seen(3))
    assert ensure(tmp_path, etcd) == (False, "data")
    assert ensure(tmp_path, Etcd(answers=False)) == (False, "data")
    assert etcd.done == []
    assert not (tmp_path / "run").exists()


def test_data_of_a_member_that_was_removed_are_not_started(tmp_path):
    with_data(tmp_path)
    refused(tmp_path, Etcd(seen(1), seen(2)), r"was removed from etcd.*move them away")


def test_a_member_that_lost_its_data_is_replaced_where_that_is_allowed(tmp_path):
    etcd = Etcd(*THREE, down=[3])
    assert ensure(tmp_path, etcd, replace=True) == (True, "joined")
    added = f"member add m3 --peer-urls={peer(3)} --learner"
    assert etcd.done == ["member remove 3", added, "start", "member promote 63"]


def test_what_a_failed_start_leaves_is_no_data_and_is_moved_away(tmp_path):
    (tmp_path / "data/member/snap").mkdir(parents=True)
    (tmp_path / "data/member/snap/db").touch()
    lost = Etcd(*THREE, down=[3])
    refused(tmp_path, lost, "has lost its data")
    assert (tmp_path / "data/member").exists()
    assert ensure(tmp_path, lost, replace=True) == (True, "joined")
    assert not (tmp_path / "data/member").exists()
    assert [p.name.partition("-")[0] for p in (tmp_path / "data").iterdir()] == ["left"]


def test_two_of_five_that_lost_their_data_are_replaced_one_after_the_other(tmp_path):
    etcd = Etcd(*THREE, seen(4), seen(5), down=[3, 5])
    assert ensure(tmp_path, etcd, replace=True) == (True, "joined")
    assert etcd.done[0] == "member remove 3"


@pytest.mark.parametrize("etcd", [Etcd(seen(1), seen(2)), Etcd(*THREE, down=[3]), Etcd(answers=False)])
def test_check_mode_changes_nothing(tmp_path, etcd):
    changed, _ = ensure(tmp_path, etcd, check=True, replace=True)
    assert changed
    assert etcd.done == []
    assert not (tmp_path / "run").exists()


def remove(name, etcd, check=False):
    return module.remove(name, Cluster(etcd, [client(1)], FILES), check)


def test_a_member_leaves_after_it_has_handed_over(tmp_path):
    etcd = Etcd(seen(3), seen(1), seen(2))
    assert remove("m3", etcd) == (True, "absent")
    assert etcd.done == ["move-leader 1", "member remove 3"]
    assert remove("m3", etcd) == (False, "absent")


def test_a_dead_member_leaves_while_the_others_are_enough():
    etcd = Etcd(*THREE, down=[3])
    assert remove("m3", etcd) == (True, "absent")
    assert etcd.done == ["member remove 3"]


@pytest.mark.parametrize(
    ("etcd", "why"),
    [
        (Etcd(*THREE, down=[2]), "1 of 2, at least 2 are needed"),
        (Etcd(*THREE, down=[2, 3]), "1 of 2, at least 2 are needed"),
        (Etcd(seen(3)), "0 of 0, at least 1 are needed"),
    ],
    ids=["another is sick", "another is sick, it too", "the last one"],
)
def test_a_member_stays_where_the_others_could_not_go_on(etcd, why):
    etcd.down.discard(client(1))
    cluster = Cluster(etcd, [client(1), client(3)], FILES)
    with pytest.raises(module.MemberError, match=why):
        module.remove("m3", cluster, False)
    assert etcd.done == []


def test_a_member_that_only_joined_leaves_at_once():
    etcd = Etcd(seen(1), {"ID": 0xABC, "peerURLs": [peer(3)], "isLearner": True})
    assert remove("abc", etcd) == (True, "absent")
    assert etcd.done == ["member remove abc"]


def test_where_no_one_answers_no_one_leaves():
    with pytest.raises(module.MemberError, match="No member of etcd answers"):
        remove("m3", Etcd(answers=False))


def test_a_dry_run_removes_no_one():
    etcd = Etcd(*THREE)
    assert remove("m3", etcd, check=True) == (True, "absent")
    assert etcd.done == []
