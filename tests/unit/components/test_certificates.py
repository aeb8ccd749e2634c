"""Certificates: who gets which, that they verify for what they are and nothing else, and when they are recreated."""

import time
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.verification import PolicyBuilder, VerificationError
from cryptography.x509.verification import Store as Trust

from avadm.components import certificates
from avadm.components.certificates import makers
from avadm.errors import AvadmError
from avadm.pki import certs
from avadm.pki.model import Authority
from avadm.pki.store import KeyStore
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node

NOW = certs.now()


def site(*workers, **network):
    at = (f"10.0.{1 + i // 200}.{1 + i % 200}" for i in range(len(workers)))
    nodes = [node(name, 0, "worker", address=next(at)) for name in workers]
    network = {"management": "10.0.0.0/16", **network}
    return sites.site(node("m1", 11, "etcd", "master", "registry"), *nodes, network=network)


def issue(store, one, keys, at):
    """Issue and save a site's certificates, also in the store that is given; return whether anything changed."""
    made = certificates.issue(store, one, keys, at)
    if made is store:
        return False
    made.save()
    for mine, new in ((store.authorities, dict(made.authorities)), (store.leaves, dict(made.leaves))):
        mine.clear()
        mine.update(new)
    return True


@pytest.fixture
def one():
    return site("w1")


@pytest.fixture
def keys(one):
    return sites.keys(one)


@pytest.fixture
def store(one, keys, tmp_path):
    assert issue(KeyStore.open(tmp_path / "demo.yml"), one, keys, NOW)
    return KeyStore.open(tmp_path / "demo.yml")


@pytest.fixture
def renewed(store):
    """Return a function: the names of the certificates that are others than they were."""
    before = dict(store.leaves)
    return lambda: {name for name in before if store.leaves[name] != before[name]}


def load(pem):
    return x509.load_pem_x509_certificate(pem.encode())


def trust(store, by):
    return PolicyBuilder().store(Trust(x509.load_pem_x509_certificates(store.trusted(by).encode())))


def server(store, by, name):
    built = trust(store, by)
    try:
        return built.build_server_verifier(x509.IPAddress(ip_address(name)))
    except ValueError:
        return built.build_server_verifier(x509.DNSName(name))


def client(store, by):
    return trust(store, by).build_client_verifier()


NAMES = "10.0.0.250 10.96.0.1 10.0.0.11 127.0.0.1 m1.demo.test kubernetes.default.svc localhost"


@pytest.mark.parametrize("name", NAMES.split())
def test_the_api_server_is_believed_under_each_of_its_names(store, name):
    assert server(store, Authority.KUBERNETES, name).verify(load(store.leaf("apiserver-m1")), [])


def test_no_server_is_believed_under_another_name_or_by_another_authority(store):
    made = load(store.leaf("kubelet-server-w1"))
    assert server(store, Authority.KUBERNETES, "w1").verify(made, [])
    for by, name in (
        (Authority.KUBERNETES, "m1"),
        (Authority.KUBERNETES, "10.0.0.250"),
        (Authority.ETCD, "w1"),
        (Authority.FRONT_PROXY, "w1"),
    ):
        with pytest.raises(VerificationError):
            server(store, by, name).verify(made, [])


def test_each_certificate_verifies_by_its_authority_and_for_its_use_alone(store, one):
    for leaf in certificates.leaves(one):
        made = load(store.leaf(leaf.name))
        believed = []
        for by in certificates.authorities(one):
            with suppress(ValueError, InvalidSignature):
                made.verify_directly_issued_by(load(store.trusted(by)))
                believed.append(by)
        assert believed == [leaf.authority], leaf.name
        uses = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert (x509.ExtendedKeyUsageOID.SERVER_AUTH in uses) == leaf.server, leaf.name
        assert (x509.ExtendedKeyUsageOID.CLIENT_AUTH in uses) == leaf.client, leaf.name


def test_a_kubelet_is_the_user_that_the_node_authorizer_knows(store):
    subject = load(store.leaf("kubelet-client-w1")).subject
    assert subject.rfc4514_string() == "CN=system:node:w1,O=system:nodes"


def test_a_service_certificate_is_no_clients(store):
    with pytest.raises(VerificationError):
        client(store, Authority.KUBERNETES).verify(load(store.leaf("apiserver-m1")), [])


@pytest.mark.parametrize(
    ("authority", "let_in"),
    [
        (Authority.ETCD_PEERS, {"etcd-peer-m1"}),
        (Authority.IMAGES, {"registry-client-m1", "registry-client-w1"}),
        (Authority.IMAGE_WRITERS, {"registry-writer-m1"}),
    ],
)
def test_where_an_authority_alone_tells_who_comes_in_no_other_user_has_its_certificate(
    store, one, authority, let_in
):
    believed = set()
    for leaf in certificates.leaves(one):
        with suppress(ValueError, InvalidSignature):
            load(store.leaf(leaf.name)).verify_directly_issued_by(load(store.trusted(authority)))
            believed.add(leaf.name)
    assert believed == let_in


def test_a_site_of_before_gets_the_authority_of_members_and_keeps_all_else(store, one, keys, renewed):
    del store.authorities[Authority.ETCD_PEERS]
    assert issue(store, one, keys | {Authority.ETCD_PEERS.key: certs.new_key()}, NOW)
    assert renewed() == {"etcd-peer-m1"}


def test_nothing_is_made_twice(store, one, keys):
    before = store.path.read_bytes()
    assert not issue(KeyStore.open(store.path.with_name("demo.yml")), one, keys, NOW + timedelta(days=100))
    assert store.path.read_bytes() == before


def test_only_what_has_less_than_a_third_of_its_life_left_is_renewed(store, one, keys, renewed):
    del store.leaves["admin"]
    assert issue(store, one, keys, NOW + timedelta(days=200))
    assert renewed() == {"admin"}
    assert issue(store, one, keys, NOW + timedelta(days=245))
    assert renewed() == set(store.leaves)
    for name, pem in store.leaves.items():
        left = load(pem).not_valid_after_utc - (NOW + timedelta(days=245))
        assert left > timedelta(days=315), name


def test_a_new_worker_changes_no_other_users_certificate(store, keys, renewed):
    more = site("w1", "w2")
    assert issue(store, more, sites.keys(more) | keys, NOW)
    assert renewed() == set()
    assert "kubelet-client-w2" in store.leaves


def test_another_virtual_address_renews_the_api_servers_certificate_alone(store, keys, renewed):
    assert issue(store, site("w1", api_vip="10.0.0.249"), keys, NOW)
    assert renewed() == {"apiserver-m1"}


def test_a_certificate_of_a_replaced_key_or_damaged_text_is_made_again(store, one, keys, renewed):
    store.leaves["admin"] = "-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n"
    changed = keys | {"vault_pki_key_node_w1": certs.new_key()}
    assert issue(store, one, changed, NOW)
    assert renewed() == {"admin"} | {
        leaf.name for leaf in certificates.leaves(one) if leaf.owner == "node-w1"
    }


def test_what_was_signed_before_the_file_was_lost_is_still_believed(store, one, keys):
    old = load(store.leaf("apiserver-m1"))
    store.path.unlink()
    fresh = KeyStore.open(store.path.with_name("demo.yml"))
    assert issue(fresh, one, keys, NOW)
    assert server(fresh, Authority.KUBERNETES, "10.0.0.250").verify(old, [])


def test_a_damaged_file_is_reported(store):
    store.path.write_text('{"authorities": 3}')
    with pytest.raises(AvadmError) as report:
        KeyStore.open(store.path.with_name("demo.yml"))
    assert "demo.pki.json" in report.value.findings[0].where


def test_a_site_without_etcd_has_no_certificates(tmp_path):
    bare = sites.site(node("a", 1))
    assert makers(bare) == {}
    assert not issue(KeyStore.open(tmp_path / "demo.yml"), bare, {}, NOW)
    assert list(tmp_path.iterdir()) == []


def test_private_keys_are_nowhere_in_the_file(store, keys):
    text = store.path.read_text()
    assert "PRIVATE" not in text
    assert [name for name, value in keys.items() if value in text] == []
    assert store.service_accounts == certs.public_pem(keys["vault_pki_key_service_accounts"])


def test_the_certificates_of_256_nodes_take_seconds(tmp_path):
    big = site(*(f"w{i}" for i in range(255)))
    begun = time.process_time()
    keys = sites.keys(big)
    store = KeyStore.open(tmp_path / "demo.yml")
    issue(store, big, keys, NOW)
    made = time.process_time() - begun
    begun = time.process_time()
    assert not issue(KeyStore.open(tmp_path / "demo.yml"), big, keys, NOW)
    looked = time.process_time() - begun
    print(f"{len(store.leaves)} certificates, {len(keys)} keys: made {made:.2f} s, looked at {looked:.2f} s")
    assert (made < 20) and (looked < 10)
