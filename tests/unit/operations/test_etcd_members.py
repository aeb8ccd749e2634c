"""What is read from etcdctl 3.4.23 and 3.5.16, whose output was recorded from three members of which one was upgraded."""

import json
import time
from types import SimpleNamespace

import pytest

from avadm.cluster.connection import Cluster
from avadm.errors import AvadmError
from avadm.operations.etcd_members import EtcdMembers
from avadm.remote.fleet import Result
from tests.unit.fakes import sites

IDS = {"m1": 14911322713731308501, "m2": 11334036390865092327, "m3": 13198920185654797865}
LOG = (
    '{"level":"warn","ts":"2026-11-28T09:45:43.130032Z","logger":"etcd-client","msg":"retrying of unary invoker failed"}\n'
    "Failed to get the status of endpoint https://10.0.0.2:2379 (context deadline exceeded)\n"
)


def address(name):
    return f"https://10.0.0.{name[1:]}:2379"


class Members:
    """Nodes on which `avadm-etcd` answers as three members do."""

    def __init__(self):
        self.revisions = dict.fromkeys(IDS, 61)
        self.hashes = dict.fromkeys(IDS, 352984973)
        self.compacted = dict.fromkeys(IDS, 20)
        self.leads, self.down, self.silent, self.asked, self.files = "m2", set(), set(), [], []

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.asked.append((node, command))
        if node in self.silent:
            return Result(node, command, None, "", "", 0.0, 0.0, error="no route")
        return Result(node, command, 0, self.reply(node, command), "", 0.0, 0.0)

    def reply(self, node, command):
        up = [n for n in IDS if n not in self.down]
        log = LOG if self.down else ""
        if "endpoint status" in command:
            found = [
                {
                    "Endpoint": address(n),
                    "Status": {
                        "header": {"cluster_id": 1, "member_id": IDS[n], "revision": self.revisions[n]},
                        "version": "3.4.23",
                        **({"leader": IDS[self.leads]} if self.leads else {}),
                    },
                }
                for n in up
            ]
            return log + json.dumps(found) + "\n"
        if "hashkv" in command:
            assert f"--rev {min(self.revisions.values())} " in command
            found = [
                {
                    "Endpoint": address(n),
                    "HashKV": {"hash": self.hashes[n], "compact_revision": self.compacted[n]},
                }
                for n in up
            ]
            return log + json.dumps(found) + "\n"
        if "move-leader" in command:
            assert node == self.leads, "the leader alone takes it"
            self.leads = next(n for n, i in IDS.items() if command.endswith(format(i, "x")))
        if command.startswith("ls "):
            return "".join(f"/var/lib/etcd/avadm-upgrade/{f} is whole\n" for f in self.files)
        return ""


@pytest.fixture
def fleet():
    return Members()


@pytest.fixture
def etcd(fleet):
    site = sites.site(*(sites.node(n, int(n[1:]), "etcd", "master", "mon") for n in IDS))
    return EtcdMembers(Cluster(SimpleNamespace(site=site), fleet, None))


def test_members_with_equal_data_are_well_at_different_moments(etcd, fleet):
    fleet.revisions["m3"] = 64
    assert etcd.troubles() == {}


def test_a_member_with_other_data_is_found(etcd, fleet):
    fleet.hashes["m3"] += 1
    assert list(etcd.troubles()) == ["cluster"]


def test_hashes_of_members_that_were_not_compacted_alike_are_not_taken_for_equal(etcd, fleet):
    fleet.compacted["m1"] = 40
    assert list(etcd.troubles()) == ["cluster"]


def test_a_member_that_is_down_is_named_and_the_others_are_read_all_the_same(etcd, fleet):
    fleet.down.add("m1")
    assert list(etcd.troubles()) == ["m1"]
    assert etcd.leader() == "m2"


def test_members_without_a_leader_are_not_well(etcd, fleet):
    fleet.leads = ""
    assert set(etcd.troubles()) == set(IDS)
    assert etcd.leader() == ""


def test_a_node_that_does_not_answer_leaves_the_question_to_the_next(etcd, fleet):
    fleet.silent.add("m1")
    assert etcd.leader() == "m2"
    fleet.silent |= set(IDS)
    with pytest.raises(AvadmError) as error:
        etcd.leader()
    assert len(error.value.findings) == 3


def test_only_the_leader_hands_over(etcd, fleet):
    assert etcd.hand_over("m1") == ""
    assert not [c for _, c in fleet.asked if "move-leader" in c]
    assert etcd.hand_over("m2") == "m1"
    assert etcd.leader() == "m1"


def test_the_only_member_hands_over_to_none(etcd, fleet):
    fleet.down |= {"m1", "m3"}
    assert etcd.hand_over("m2") == ""


def test_a_snapshot_is_taken_on_the_next_node_where_one_cannot(etcd, fleet):
    fleet.silent.add("m1")
    assert etcd.snapshot() == "m2"
    fleet.silent |= set(IDS)
    with pytest.raises(AvadmError):
        etcd.snapshot()


def test_only_a_whole_snapshot_of_this_upgrade_counts(etcd, fleet):
    now = time.time()
    stamp = lambda at: time.strftime("%Y%m%dT%H%M%SZ.db", time.gmtime(at))  # noqa: E731
    assert not etcd.has_snapshot(now)
    fleet.files = [stamp(now - 86400)]
    assert not etcd.has_snapshot(now)
    fleet.files.append(stamp(now + 5))
    assert etcd.has_snapshot(now)
