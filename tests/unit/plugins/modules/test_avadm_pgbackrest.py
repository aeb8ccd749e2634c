"""avadm_pgbackrest: a repository is made once, and never in place of one that cannot be seen."""

import json

import pytest
from avadm_pgbackrest import Repository, RepositoryError


class Node:
    """pgbackrest and test, as root runs them: what they answer, and what was asked."""

    def __init__(self, code=0, **fails):
        self.code, self.fails, self.asked = code, fails, []

    def __call__(self, argv):
        words = argv[4:] if argv[4] == "test" else argv[8:]
        self.asked.append(words[0])
        assert argv[:4] == ["runuser", "-u", "postgres", "--"]
        if words[0] in self.fails:
            return self.fails[words[0]]
        return 0, json.dumps([{"status": {"code": self.code}}]) if words[0] == "info" else "", ""


def ensure(node, dry=False):
    work = Repository(node, "avadm", 60, dry)
    work.ensure()
    return work.actions


@pytest.mark.parametrize("code", [0, 2])
def test_a_repository_that_is_there_is_left_alone(code):
    node = Node(code)
    assert ensure(node) == []
    assert node.asked == ["info"]


@pytest.mark.parametrize("code", [1, 3])
def test_one_that_is_not_is_made_and_has_to_take_wal(code):
    node = Node(code)
    assert ensure(node) == ["stanza-create"]
    assert node.asked == ["info", "stanza-create", "check"]
    assert Node(code).asked == []
    dry = Node(code)
    assert ensure(dry, dry=True) == ["stanza-create"]
    assert dry.asked == ["info"]


@pytest.mark.parametrize(
    ("fails", "message"),
    [
        ({"info": (103, "", "unable to connect")}, "unable to connect"),
        ({"check": (82, "", "WAL segment was not archived")}, "was not archived"),
    ],
)
def test_a_repository_that_does_not_answer_or_takes_no_wal_is_reported(fails, message):
    with pytest.raises(RepositoryError, match=message):
        ensure(Node(1, **fails))


def test_a_state_that_is_not_known_is_not_overwritten():
    node = Node(5)
    with pytest.raises(RepositoryError, match="state 5"):
        ensure(node)
    assert node.asked == ["info"]


def test_a_folder_that_is_not_there_is_not_made():
    node = Node(test=(1, "", ""))
    with pytest.raises(RepositoryError, match="/mnt/backups is no folder"):
        Repository(node, "avadm", 60).folder("/mnt/backups")
    assert node.asked == ["test"]
