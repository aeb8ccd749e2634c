"""A member of etcd without data: when it may start, and when it must not."""

import json

import avadm_etcd_member as module
import pytest

PEER = "https://10.0.0.12:2380"
FOUNDER = {
    "ID": 1,
    "name": "m1",
    "peerURLs": ["https://10.0.0.11:2380"],
    "clientURLs": ["https://10.0.0.11:2379"],
}


def other(members, answers=True):
    calls = []

    def run(argv):
        calls.append(argv)
        return (0, json.dumps({"members": members}), "") if answers else (1, "", "refused")

    run.calls = calls
    return run


def given(tmp_path, **more):
    return {
        "name": "m2",
        "data_dir": str(tmp_path / "data"),
        "others": ["https://10.0.0.11:2379"],
        "peer_url": PEER,
        "cacert": "/ca",
        "cert": "/cert",
        "key": "/key",
        "file": str(tmp_path / "run/bootstrap"),
        **more,
    }


@pytest.mark.parametrize(
    ("run", "state"),
    [
        (other([], answers=False), "new"),
        (other([FOUNDER, {"ID": 2, "name": "m2", "peerURLs": [PEER]}]), "new"),
        (other([FOUNDER, {"ID": 2, "peerURLs": [PEER]}]), "existing"),
    ],
    ids=["nobody answers", "of the first list, never seen", "added later"],
)
def test_a_member_that_was_never_seen_starts(tmp_path, run, state):
    assert module.ensure(given(tmp_path), run, False) == (True, state)
    assert (tmp_path / "run/bootstrap").read_text() == f"ETCD_INITIAL_CLUSTER_STATE={state}\n"


def test_a_member_with_data_is_asked_nothing(tmp_path):
    (tmp_path / "data/member").mkdir(parents=True)
    run = other([])
    assert module.ensure(given(tmp_path), run, False) == (False, "data")
    assert run.calls == []
    assert not (tmp_path / "run").exists()


def test_a_member_that_lost_its_data_is_not_started(tmp_path):
    known = {"ID": 0xABC, "name": "m2", "peerURLs": [PEER], "clientURLs": ["https://10.0.0.12:2379"]}
    with pytest.raises(module.MemberError, match="member remove abc"):
        module.ensure(given(tmp_path), other([FOUNDER, known]), False)
    assert not (tmp_path / "run").exists()


def test_a_member_that_the_others_do_not_know_is_not_started(tmp_path):
    with pytest.raises(module.MemberError, match="member add m2"):
        module.ensure(given(tmp_path), other([FOUNDER]), False)


def test_check_mode_writes_nothing(tmp_path):
    assert module.ensure(given(tmp_path), other([], answers=False), True) == (True, "new")
    assert not (tmp_path / "run").exists()
