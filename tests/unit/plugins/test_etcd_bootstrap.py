"""etcd is bootstrapped once: a lost member, a silent one and a slow one are no reason to make an empty cluster."""

import json
import socket

import avadm_etcd_bootstrap_mark as mark_module
import pytest
from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils import avadm_etcd_bootstrap as bootstrap_module
from ansible.module_utils.avadm_etcd import Cluster, MemberError

from tests.unit.fakes.builders import Signer, https
from tests.unit.plugins.test_avadm_etcd_member import (
    THREE,
    Etcd,
    bootstrap,
    ensure,
    peer,
    refused,
    seen,
    with_data,
)

OURS, OTHER = "c1", "c2"


def mark(tmp_path, identity=OURS):
    marks.keep("etcd", identity, str(tmp_path / "founded"))


@pytest.mark.parametrize("by", ["mark", "ledger", "a mark that cannot be read", "a ledger without marks"])
@pytest.mark.parametrize(
    ("etcd", "first"),
    [
        (Etcd(answers=False), {}),
        (Etcd(answers=False), {"m3": peer(3)}),
        (Etcd(*THREE), {}),
        (Etcd(seen(1), {"ID": 3, "name": "m3", "peerURLs": [peer(3)]}), {}),
    ],
    ids=["no server answers", "alone", "all answer", "never seen at work"],
)
def test_a_member_that_was_bootstrapped_and_has_no_data_is_refused_any_user_who_answers(
    tmp_path, etcd, first, by
):
    recorded = {"ledger": {"m3": OURS}, "a ledger without marks": {"m3": "done"}}.get(by, {})
    if "mark" in by and not recorded:
        mark(tmp_path)
    if "read" in by:
        (tmp_path / "founded/etcd.json").write_text("")
    given = {"first": first} if first else {}
    why = r"disk is mounted.*--replace m3.*restore a snapshot"
    refused(tmp_path, etcd, why, bootstrapped=recorded, **given)


def test_a_new_member_bootstraps_nothing_where_others_were_bootstrapped_and_are_away(tmp_path):
    why = r"bootstrapped before \(on m1\).*bring those back"
    refused(tmp_path, Etcd(answers=False), why, bootstrapped={"m1": OURS})


def test_one_that_may_be_replaced_still_needs_the_others(tmp_path):
    mark(tmp_path)
    refused(tmp_path, Etcd(answers=False), "has lost its data", replace=True)
    assert ensure(tmp_path, Etcd(*THREE, down=[3]), replace=True) == (True, "joined")


@pytest.mark.parametrize(("identity", "joins"), [(OURS, True), ("done", True), (OTHER, False)])
def test_who_was_removed_on_purpose_joins_the_cluster_of_its_mark_alone(tmp_path, identity, joins):
    etcd, recorded = Etcd(seen(1), seen(2)), {"m3": identity}
    if joins:
        assert ensure(tmp_path, etcd, bootstrapped=recorded) == (True, "joined")
    else:
        refused(tmp_path, etcd, "has lost its data", bootstrapped=recorded)


def test_all_that_was_lost_can_be_given_up_by_name(tmp_path):
    mark(tmp_path)
    assert ensure(tmp_path, Etcd(answers=False), bootstrapped={"m1": OURS}, again=True) == (True, "new")


FIRST = {"id": 1, "name": "m1", "peerURLs": [peer(1)]}


def test_a_first_installation_that_was_cut_off_goes_on(tmp_path):
    """Others of the first list run and wait for a quorum: they answer no client, and their peer port tells so."""
    assert ensure(tmp_path, Etcd(answers=False), ask=lambda url, files: [FIRST]) == (True, "new")
    assert bootstrap(tmp_path)["ETCD_INITIAL_CLUSTER_STATE"] == "new"


def test_members_at_work_that_answer_no_client_are_not_no_one(tmp_path):
    at_work = [FIRST, {**FIRST, "clientURLs": ["https://10.0.0.1:2379"]}]
    why = "m1 is a member of one that has been at work"
    refused(tmp_path, Etcd(answers=False), why, ask=lambda url, files: at_work)


def test_a_port_of_which_nothing_is_known_is_not_no_one(tmp_path):
    def ask(url, files):
        raise MemberError(f"{url}: timed out")

    refused(tmp_path, Etcd(answers=False), r"it is unknown whether m1 .*timed out.*Remedy", ask=ask)


def written(folder, name):
    return dict(zip(("cacert", "cert", "key"), Signer().write(folder, name), strict=True))


@pytest.fixture
def port(tmp_path):
    """A peer port that tells of one member; yields (url, files)."""
    files = written(tmp_path, "good")
    with https(files["cert"], files["key"], json.dumps([FIRST]).encode()) as number:
        yield f"https://127.0.0.1:{number}", files


def test_a_peer_port_tells_its_members_to_who_trusts_it(port):
    assert bootstrap_module.peers(*port) == [FIRST]


def test_another_authority_is_no_answer(port, tmp_path):
    with pytest.raises(MemberError, match=r"(?i)certificate"):
        bootstrap_module.peers(port[0], written(tmp_path, "strange"))


def test_another_address_is_no_answer(port):
    with pytest.raises(MemberError, match=r"the certificate is of 127\.0\.0\.1"):
        bootstrap_module.peers(port[0].replace("127.0.0.1", "localhost"), port[1])


def test_a_silent_port_is_no_answer_and_a_closed_one_is_no_one(port):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(MemberError, match="timed out"):
            bootstrap_module.peers(url, port[1], timeout=0.2)
    assert bootstrap_module.peers(url, port[1]) is None


def test_the_mark_is_written_where_there_are_data_and_forgets_the_first_start(tmp_path):
    first = tmp_path / "bootstrap"
    first.touch()
    given = {"url": "u", "data_dir": str(tmp_path / "data"), "marks": str(tmp_path / "founded")}
    given["file"] = str(first)
    cluster = Cluster(Etcd(seen(1)), ["u"], {})
    with pytest.raises(MemberError, match="no data in"):
        mark_module.ensure(given, cluster)
    with_data(tmp_path)
    assert mark_module.ensure(given, cluster, True) == (True, OURS)
    assert first.exists()
    assert mark_module.ensure(given, cluster) == (True, OURS)
    assert not first.exists()
    assert mark_module.ensure(given, cluster) == (False, OURS)
    path = tmp_path / "founded/etcd.json"
    assert (path.stat().st_mode & 0o777, json.loads(path.read_text())["identity"]) == (0o600, OURS)
    with pytest.raises(MemberError, match="does not answer"):
        mark_module.ensure(given, Cluster(Etcd(answers=False), ["u"], {}))
