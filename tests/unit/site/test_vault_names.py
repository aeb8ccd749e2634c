"""No two owners of secrets have one vault variable, whatever the nodes are called."""

from itertools import combinations

import pytest

from avadm.components import certificates
from avadm.components.ceph.identities import Entity
from avadm.components.ceph.variables import cephx
from avadm.components.database_backup import bucket_policy as database_store
from avadm.components.etcd import bucket_policy as etcd_store
from avadm.pki.model import key_variable
from avadm.site.load import examine
from avadm.site.model import Node
from tests.unit.fakes import sites

NAMES = ("a-b", "a--b", "a---b", "ab", "a0b", "a-b-c", "a--b-c", "a-b--c")


def node(name):
    return Node(name=name, address="10.0.0.1")


NAMERS = {
    "private key": lambda n: key_variable(f"node-{n}"),
    "ceph key": lambda n: Entity(f"mgr.{n}", {}).secret,
    "copies of etcd": lambda n: etcd_store.key_names(node(n)),
    "backups of the database": lambda n: database_store.key_names(node(n)),
}


@pytest.mark.parametrize("namer", NAMERS)
def test_nodes_with_similar_names_have_secrets_of_their_own(namer):
    named = {n: NAMERS[namer](n) for n in NAMES}
    assert [(a, b) for a, b in combinations(NAMES, 2) if named[a] == named[b]] == []


def test_usual_names_keep_their_variables():
    assert key_variable("node-gpu01") == "vault_pki_key_node_gpu01"
    assert key_variable("registry-writer-w-1") == "vault_pki_key_registry_writer_w_1"
    assert Entity("mon.", {}).secret == "vault_ceph_key_mon"
    assert Entity("client.rbd-fast", {}).secret == "vault_ceph_key_client_rbd_fast"


def test_a_whole_site_has_a_variable_for_each_owner():
    roles = ("mon", "mgr", "osd", "mds", "etcd", "master", "worker", "registry", "dns", "ingress")
    one = sites.site(*(sites.node(name, i, *roles) for i, name in enumerate(NAMES, 11)))
    owners = certificates.owners(one)
    assert len({key_variable(o) for o in owners}) == len(owners)
    entities = {e.name for e in cephx(one)}
    assert len({Entity(name, {}).secret for name in entities}) == len(entities)


def test_a_name_that_makes_two_owners_one_is_refused(tmp_path):
    text = """version: 1
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.99}
time: {servers: [a.test]}
nodes:
  - {name: m1, address: 10.0.0.11, roles: [etcd, master]}
  - {name: one, address: 10.0.0.12, roles: [worker, registry]}
  - {name: writer-one, address: 10.0.0.13, roles: [worker, registry]}
"""
    (tmp_path / "site.yml").write_text(text)
    (found,) = [f for f in examine(tmp_path / "site.yml")[1] if f.check == "vault-name-clash"]
    assert "registry-writer-one" in found.found
    assert found.where.startswith("site.yml:9")
    (tmp_path / "site.yml").write_text(text.replace("writer-one", "writes-one"))
    assert not [f for f in examine(tmp_path / "site.yml")[1] if f.check == "vault-name-clash"]
