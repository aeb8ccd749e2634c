"""etcd is founded once: a lost member, a silent one and a slow one are no reason to make an empty cluster."""

import json
import socket
import ssl
import threading
from datetime import UTC, datetime

import avadm_etcd_founded as founded_module
import pytest
from ansible.module_utils import avadm_etcd_founding as founding
from ansible.module_utils import avadm_founded as marks
from ansible.module_utils.avadm_etcd import Cluster, MemberError

from avadm.pki import certs
from avadm.pki.model import Authority, Leaf
from tests.unit.plugins.test_avadm_etcd_member import Etcd, bootstrap, ensure, peer, seen, with_data

OURS, OTHER = "c1", "c2"


def mark(tmp_path, identity=OURS):
    marks.keep("etcd", identity, str(tmp_path / "founded"))


@pytest.mark.parametrize("by", ["mark", "ledger", "a mark that cannot be read", "a ledger without marks"])
@pytest.mark.parametrize(
    ("etcd", "first"),
    [
        (Etcd(answers=False), {}),
        (Etcd(answers=False), {"m3": peer(3)}),
        (Etcd(seen(1), seen(2), seen(3)), {}),
        (Etcd(seen(1), {"ID": 3, "name": "m3", "peerURLs": [peer(3)]}), {}),
    ],
    ids=["nobody answers", "alone", "all answer", "never seen at work"],
)
def test_a_member_that_was_founded_and_has_no_data_is_refused_whoever_answers(tmp_path, etcd, first, by):
    ledger = {"ledger": {"m3": OURS}, "a ledger without marks": {"m3": "done"}}.get(by, {})
    if "mark" in by and not ledger:
        mark(tmp_path)
    if "read" in by:
        (tmp_path / "founded/etcd.json").write_text("")
    given = {"first": first} if first else {}
    with pytest.raises(MemberError, match=r"disk is mounted.*--replace m3.*restore a snapshot"):
        ensure(tmp_path, etcd, founded=ledger, **given)
    assert etcd.done == []
    assert not (tmp_path / "run").exists()


def test_a_new_member_founds_nothing_where_others_were_founded_and_are_away(tmp_path):
    with pytest.raises(MemberError, match=r"founded before \(on m1\).*bring those back"):
        ensure(tmp_path, Etcd(answers=False), founded={"m1": OURS})


def test_one_that_may_be_replaced_still_needs_the_others(tmp_path):
    mark(tmp_path)
    with pytest.raises(MemberError, match="has lost its data"):
        ensure(tmp_path, Etcd(answers=False), replace=True)
    assert ensure(tmp_path, Etcd(seen(1), seen(2), seen(3), down=[3]), replace=True) == (True, "joined")


@pytest.mark.parametrize(("identity", "joins"), [(OURS, True), ("done", True), (OTHER, False)])
def test_who_was_removed_on_purpose_joins_the_cluster_of_its_mark_alone(tmp_path, identity, joins):
    etcd, ledger = Etcd(seen(1), seen(2)), {"m3": identity}
    if joins:
        assert ensure(tmp_path, etcd, founded=ledger) == (True, "joined")
    else:
        with pytest.raises(MemberError, match="has lost its data"):
            ensure(tmp_path, etcd, founded=ledger)


def test_all_that_was_lost_can_be_given_up_by_name(tmp_path):
    mark(tmp_path)
    assert ensure(tmp_path, Etcd(answers=False), founded={"m1": OURS}, anew=True) == (True, "new")


FIRST = {"id": 1, "name": "m1", "peerURLs": [peer(1)]}


def test_a_first_installation_that_was_cut_off_goes_on(tmp_path):
    """Others of the first list run and wait for a quorum: they answer no client, and their peer port tells so."""
    assert ensure(tmp_path, Etcd(answers=False), ask=lambda url, files: [FIRST]) == (True, "new")
    assert bootstrap(tmp_path)["ETCD_INITIAL_CLUSTER_STATE"] == "new"


def test_members_at_work_that_answer_no_client_are_not_nobody(tmp_path):
    at_work = [FIRST, {**FIRST, "clientURLs": ["https://10.0.0.1:2379"]}]
    with pytest.raises(MemberError, match="m1 is a member of one that has been at work"):
        ensure(tmp_path, Etcd(answers=False), ask=lambda url, files: at_work)


def test_a_port_of_which_nothing_is_known_is_not_nobody(tmp_path):
    def ask(url, files):
        raise MemberError(f"{url}: timed out")

    with pytest.raises(MemberError, match=r"cannot be told whether m1 .*timed out.*Remedy"):
        ensure(tmp_path, Etcd(answers=False), ask=ask)
    assert not (tmp_path / "run").exists()


def written(folder, name, address="127.0.0.1", days=30, at=None):
    key, by = certs.new_key(), certs.new_key()
    authority = certs.authority("test", by, datetime.now(UTC))
    leaf = Leaf(name, Authority.ETCD, name, "m1", addresses=(address,), server=True)
    pem = certs.leaf(leaf, key, authority, by, at or datetime.now(UTC), days)
    for suffix, text in (("ca", authority), ("crt", pem), ("key", certs.pem_of(key))):
        (folder / f"{name}.{suffix}").write_text(text)
    return {
        kind: str(folder / f"{name}.{end}")
        for kind, end in (("cacert", "ca"), ("cert", "crt"), ("key", "key"))
    }


@pytest.fixture
def port(tmp_path):
    """Serve one TLS connection of a peer port that tells two members; yields (url, files)."""
    files = written(tmp_path, "good")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["cert"], files["key"])
    body = json.dumps([FIRST]).encode()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            while True:
                try:
                    taken, _ = server.accept()
                except OSError:
                    return
                try:
                    with context.wrap_socket(taken, server_side=True) as tls:
                        tls.recv(4096)
                        tls.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                except OSError:
                    taken.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}", files


def test_a_peer_port_tells_its_members_to_who_trusts_it(port):
    assert founding.peers(*port) == [FIRST]


def test_another_authority_is_no_answer(port, tmp_path):
    with pytest.raises(MemberError, match=r"(?i)certificate"):
        founding.peers(port[0], written(tmp_path, "strange"))


def test_another_address_is_no_answer(port):
    with pytest.raises(MemberError, match=r"the certificate is of 127\.0\.0\.1"):
        founding.peers(port[0].replace("127.0.0.1", "localhost"), port[1])


def test_a_silent_port_is_no_answer_and_a_closed_one_is_nobody(port):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(MemberError, match="timed out"):
            founding.peers(url, port[1], timeout=0.2)
    assert founding.peers(url, port[1]) is None


def test_the_mark_is_written_where_there_are_data_and_forgets_the_first_start(tmp_path):
    first = tmp_path / "bootstrap"
    first.touch()
    given = {
        "url": "u",
        "data_dir": str(tmp_path / "data"),
        "marks": str(tmp_path / "founded"),
        "file": str(first),
    }
    cluster = Cluster(Etcd(seen(1)), ["u"], {})
    with pytest.raises(MemberError, match="no data in"):
        founded_module.ensure(given, cluster)
    with_data(tmp_path)
    assert founded_module.ensure(given, cluster, True) == (True, OURS)
    assert first.exists()
    assert founded_module.ensure(given, cluster) == (True, OURS)
    assert not first.exists()
    assert founded_module.ensure(given, cluster) == (False, OURS)
    path = tmp_path / "founded/etcd.json"
    assert (path.stat().st_mode & 0o777, json.loads(path.read_text())["identity"]) == (0o600, OURS)
    with pytest.raises(MemberError, match="does not answer"):
        founded_module.ensure(given, Cluster(Etcd(answers=False), ["u"], {}))
