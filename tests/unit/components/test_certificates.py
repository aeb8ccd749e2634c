"""Certificates: who gets which, that they verify for what they are and nothing else, and when they are made anew."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.verification import ClientVerifier, PolicyBuilder, ServerVerifier, VerificationError
from cryptography.x509.verification import Store as Trust

from avadm.components import certificates
from avadm.components.certificates import issue, makers
from avadm.errors import AvadmError
from avadm.pki import certs
from avadm.pki.model import Authority
from avadm.pki.store import Store
from avadm.site.model import Site

NOW = certs.now()


def site(*workers: str, **more: object) -> Site:
    nodes = [{"name": "m1", "address": "10.0.0.11", "roles": ["etcd", "master", "registry"]}]
    nodes += [
        {"name": name, "address": f"10.0.{1 + i // 200}.{1 + i % 200}", "roles": ["worker"]}
        for i, name in enumerate(workers)
    ]
    network = {"management": "10.0.0.0/16", "domain": "demo.test", "api_vip": "10.0.0.250"}
    return Site.model_validate({"name": "demo", "network": network, "nodes": nodes, **more})


def keys_of(one: Site) -> dict[str, str]:
    return {name: make() for name, make in makers(one).items()}


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Store, Site, dict[str, str]]:
    one = site("w1")
    keys = keys_of(one)
    store = Store.open(tmp_path / "demo.yml")
    assert issue(store, one, keys, NOW)
    return Store.open(tmp_path / "demo.yml"), one, keys


def load(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def server(store: Store, by: Authority, name: str) -> ServerVerifier:
    built = PolicyBuilder().store(Trust(x509.load_pem_x509_certificates(store.trusted(by).encode())))
    try:
        return built.build_server_verifier(x509.IPAddress(ip_address(name)))
    except ValueError:
        return built.build_server_verifier(x509.DNSName(name))


def client(store: Store, by: Authority) -> ClientVerifier:
    trust = Trust(x509.load_pem_x509_certificates(store.trusted(by).encode()))
    return PolicyBuilder().store(trust).build_client_verifier()


@pytest.mark.parametrize(
    "name",
    [
        "10.0.0.250",
        "10.96.0.1",
        "10.0.0.11",
        "127.0.0.1",
        "m1.demo.test",
        "kubernetes.default.svc",
        "localhost",
    ],
)
def test_the_api_server_is_believed_under_each_of_its_names(kept, name):
    store, _, _ = kept
    assert server(store, Authority.KUBERNETES, name).verify(load(store.leaf("apiserver-m1")), [])


def test_no_server_is_believed_under_another_name_or_by_another_authority(kept):
    store, _, _ = kept
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


def test_each_certificate_verifies_by_its_authority_and_for_its_use_alone(kept):
    store, one, _ = kept
    for leaf in certificates.leaves(one):
        made = load(store.leaf(leaf.name))
        believed = []
        for by in Authority:
            with suppress(ValueError, InvalidSignature):
                made.verify_directly_issued_by(load(store.trusted(by)))
                believed.append(by)
        assert believed == [leaf.authority], leaf.name
        uses = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert (x509.ExtendedKeyUsageOID.SERVER_AUTH in uses) == leaf.server, leaf.name
        assert (x509.ExtendedKeyUsageOID.CLIENT_AUTH in uses) == leaf.client, leaf.name


def test_a_kubelet_is_the_user_that_the_node_authorizer_knows(kept):
    store, _, _ = kept
    subject = load(store.leaf("kubelet-client-w1")).subject
    assert subject.rfc4514_string() == "CN=system:node:w1,O=system:nodes"


def test_a_service_certificate_is_no_clients(kept):
    store, _, _ = kept
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
def test_where_an_authority_alone_tells_who_comes_in_nobody_else_has_its_certificate(kept, authority, let_in):
    store, one, _ = kept
    believed = set()
    for leaf in certificates.leaves(one):
        with suppress(ValueError, InvalidSignature):
            load(store.leaf(leaf.name)).verify_directly_issued_by(load(store.trusted(authority)))
            believed.add(leaf.name)
    assert believed == let_in


def test_a_site_of_before_gets_the_authority_of_members_and_keeps_all_else(kept):
    store, one, keys = kept
    before = dict(store.leaves)
    del store.authorities[Authority.ETCD_PEERS]
    assert issue(store, one, keys | {Authority.ETCD_PEERS.key: certs.new_key()}, NOW)
    assert [n for n in before if store.leaves[n] != before[n]] == ["etcd-peer-m1"]


def test_nothing_is_made_twice(kept):
    store, one, keys = kept
    before = store.path.read_bytes()
    assert not issue(Store.open(store.path.with_name("demo.yml")), one, keys, NOW + timedelta(days=100))
    assert store.path.read_bytes() == before


def test_only_what_has_less_than_a_third_of_its_life_left_is_renewed(kept):
    store, one, keys = kept
    before = dict(store.leaves)
    del store.leaves["admin"]
    assert issue(store, one, keys, NOW + timedelta(days=200))
    assert [n for n in before if store.leaves[n] != before[n]] == ["admin"]
    assert issue(store, one, keys, NOW + timedelta(days=245))
    assert [n for n in before if store.leaves[n] == before[n]] == []
    for name, pem in store.leaves.items():
        left = load(pem).not_valid_after_utc - (NOW + timedelta(days=245))
        assert left > timedelta(days=315), name


def test_a_new_worker_changes_nobody_elses_certificate(kept):
    store, _, keys = kept
    before = dict(store.leaves)
    more = site("w1", "w2")
    assert issue(store, more, keys_of(more) | keys, NOW)
    assert {n: store.leaves[n] for n in before} == before
    assert "kubelet-client-w2" in store.leaves


def test_another_virtual_address_renews_the_api_servers_certificate_alone(kept):
    store, _, keys = kept
    before = dict(store.leaves)
    network = {"management": "10.0.0.0/16", "domain": "demo.test", "api_vip": "10.0.0.249"}
    assert issue(store, site("w1", network=network), keys, NOW)
    assert [n for n in before if store.leaves[n] != before[n]] == ["apiserver-m1"]


def test_a_certificate_of_a_replaced_key_or_damaged_text_is_made_anew(kept):
    store, one, keys = kept
    before = dict(store.leaves)
    store.leaves["admin"] = "-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n"
    changed = keys | {"vault_pki_key_node_w1": certs.new_key()}
    assert issue(store, one, changed, NOW)
    renewed = {n for n in before if store.leaves[n] != before[n]}
    assert renewed == {"admin"} | {leaf.name for leaf in certificates.leaves(one) if leaf.owner == "node-w1"}


def test_what_was_signed_before_the_file_was_lost_is_still_believed(kept):
    store, one, keys = kept
    old = load(store.leaf("apiserver-m1"))
    store.path.unlink()
    fresh = Store.open(store.path.with_name("demo.yml"))
    assert issue(fresh, one, keys, NOW)
    assert server(fresh, Authority.KUBERNETES, "10.0.0.250").verify(old, [])


def test_a_damaged_file_is_told(kept):
    store, _, _ = kept
    store.path.write_text('{"authorities": 3}')
    with pytest.raises(AvadmError) as told:
        Store.open(store.path.with_name("demo.yml"))
    assert "demo.pki.json" in told.value.findings[0].where


def test_a_site_without_etcd_has_no_certificates(tmp_path):
    network = {"management": "10.0.0.0/16", "domain": "demo.test"}
    bare = Site.model_validate(
        {"name": "demo", "network": network, "nodes": [{"name": "a", "address": "10.0.0.1"}]}
    )
    assert makers(bare) == {}
    assert not issue(Store.open(tmp_path / "demo.yml"), bare, {}, NOW)
    assert list(tmp_path.iterdir()) == []


def test_private_keys_are_nowhere_in_the_file(kept):
    store, _, keys = kept
    text = store.path.read_text()
    assert "PRIVATE" not in text
    assert [name for name, value in keys.items() if value in text] == []
    assert store.service_accounts == certs.public_pem(keys["vault_pki_key_service_accounts"])


def test_the_certificates_of_256_nodes_take_seconds(tmp_path):
    big = site(*(f"w{i}" for i in range(255)))
    begun = time.process_time()
    keys = keys_of(big)
    store = Store.open(tmp_path / "demo.yml")
    issue(store, big, keys, NOW)
    made = time.process_time() - begun
    begun = time.process_time()
    assert not issue(Store.open(tmp_path / "demo.yml"), big, keys, NOW)
    looked = time.process_time() - begun
    print(f"{len(store.leaves)} certificates, {len(keys)} keys: made {made:.2f} s, looked at {looked:.2f} s")
    assert (made < 20) and (looked < 10)
