"""Variables of the object store's roles, and their absence on a site without one."""

import json
import stat

import pytest

from avadm.components import certificates
from avadm.components.base import variables as core
from avadm.components.catalog import PHASES
from avadm.components.ceph import variables as ceph
from avadm.components.etcd import bucket_policy as etcd_store
from avadm.components.monitoring import variables as monitoring
from avadm.components.objects import object_pools
from avadm.components.objects import variables as objects
from avadm.errors import AvadmError
from avadm.inventory.model import Variables
from avadm.pki import store as pki
from avadm.pki.model import Authority
from avadm.site import profile as profiles
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node

OWN = {
    "vip": "10.0.0.99",
    "users": [{"name": "ai-lab", "quota_mib": 10, "quota_objects": 7}, {"name": "free"}],
    "buckets": [{"name": "data", "owner": "ai-lab", "versioning": True}],
}
EXTERNAL = {
    "provider": "external",
    "external": {"endpoint": "https://s3.kodo.test/"},
    "buckets": [{"name": "data"}],
}


MEMBERS = [node("k1", 6, "etcd"), node("k2", 7, "etcd")]


def site(store, *members):
    served = ["rgw"] if store and store is OWN else []
    return sites.site(
        node("s1", 1, "mon", "mgr", "osd", *served, devices=[{"serial": "A"}]),
        node("s2", 2, "mon", "mgr", "osd", *served, devices=[{"serial": "B"}]),
        node("c1", 4, "client", "prometheus"),
        node("c2", 5, "prometheus", "alertmanager"),
        *members,
        components={"object_store": store} if store else {},
    )


@pytest.fixture
def made(tmp_path):
    def render(store, *members, profile="lab-bookworm"):
        one = site(store, *members)
        out = Variables(all={"base_hosts": "10.0.0.1 s1"})
        store = sites.issued(one, tmp_path)
        return sites.render(one, ceph, monitoring, objects, profile=profile, store=store, out=out)

    return render


def test_a_site_without_an_object_store_is_reported_nothing_of_one(made):
    out = made(None)
    assert "rgw" not in json.dumps([out.all, out.hosts, sorted(out.secrets)])
    assert not [k for k in out.all if k.startswith(("ceph_rgw", "objects_", "blackbox_exporter_objects"))]
    assert "grafana_more_dashboards" not in out.all
    assert out.all["base_hosts"] == "10.0.0.1 s1"
    assert not [leaf for leaf in certificates.leaves(site(None)) if leaf.authority is Authority.OBJECTS]
    assert next(p for p in PHASES if p.name == "objects").hosts(site(None)) == ()


def test_gateways_speak_tls_alone_each_at_its_own_address(made):
    config = made(OWN).all["ceph_common_config"]
    for name, address in (("s1", "10.0.0.1"), ("s2", "10.0.0.2")):
        frontend = config[f"client.rgw.{name}"]["rgw_frontends"]
        assert frontend.startswith(f"beast ssl_endpoint={address}:7443 ssl_certificate=")
        assert " endpoint=" not in frontend
        assert " port=" not in frontend


def test_a_gateway_may_use_its_pools_and_make_none(made):
    out = made(OWN)
    caps = {e["entity"]: e["caps"] for e in out.all["ceph_mon_entities"]}["client.rgw.s1"]
    assert caps["mon"] == "allow r"
    assert "allow *" not in caps["osd"]
    pools = {p["name"] for p in out.all["ceph_rgw_pools"]}
    assert pools == {p.partition("pool=")[2] for p in caps["osd"].split(", ")} == set(object_pools.SHARES)
    assert {p["application"] for p in out.all["ceph_rgw_pools"]} == {"rgw"}
    assert {(p["size"], p["min_size"]) for p in out.all["ceph_rgw_pools"]} == {(2, 1)}


def test_keys_are_in_the_vault_and_quotas_in_bytes(made):
    out = made(OWN)
    first, free = out.all["ceph_rgw_users"]
    names = {f"{kind}_key": f"vault_s3_{kind}_ai_lab" for kind in ("access", "secret")}
    assert set(names.values()) <= set(out.secrets)
    keys = {key: f"{{{{ {name} }}}}" for key, name in names.items()}
    assert first == {"name": "ai-lab", **keys, "max_bytes": 10 << 20, "max_objects": 7}
    assert (free["name"], free["max_bytes"], free["max_objects"]) == ("free", -1, -1)
    bucket = out.all["ceph_rgw_buckets"][0]
    assert (bucket["name"], bucket["versioning"]) == ("data", True)
    assert bucket["secret_key"] == first["secret_key"]


def packages(store):
    """Return what a member of etcd needs."""
    one = site(store, *MEMBERS)
    return core.packages(one, one.nodes[-1], profiles.load("stated"))


@pytest.mark.parametrize("store", [EXTERNAL, None])
def test_without_a_store_of_its_own_a_site_makes_no_users_for_copies_of_etcd(made, store):
    out = made(store, *MEMBERS)
    assert "etcd_store" not in json.dumps([out.all, out.hosts])
    assert "avadm-etcd" not in json.dumps(out.all)
    assert "python3-boto3" not in packages(store)


def test_members_of_etcd_have_users_of_their_own_for_copies(made):
    out = made(OWN, *MEMBERS)
    users = {u["name"]: u for u in out.all["ceph_rgw_users"] if u["name"].startswith("avadm-")}
    assert list(users) == ["avadm-etcd", "avadm-etcd-k1", "avadm-etcd-k2"]
    assert {(u["max_bytes"], u["max_objects"]) for u in users.values()} == {(-1, -1)}
    at = {"endpoint": "https://objects.demo.test:7443", "region": "default", "bucket": "avadm-etcd"}
    for member in ("k1", "k2"):
        keys = {f"{k}_key": f"{{{{ vault_s3_{k}_avadm_etcd_{member} }}}}" for k in ("access", "secret")}
        assert out.hosts[member]["etcd_store"] == at | keys
        assert {k: users[f"avadm-etcd-{member}"][k] for k in keys} == keys
        assert {key.strip("{} ") for key in keys.values()} <= set(out.secrets)
    assert "BEGIN CERTIFICATE" in out.all["etcd_store_ca_certificate"]
    assert "python3-boto3" in packages(OWN)


def allowed(policy):
    """Return what a policy allows, as (user, action, where)."""
    return {
        (who.removeprefix("arn:aws:iam:::user/"), action, where.removeprefix("arn:aws:s3:::"))
        for one in policy["Statement"]
        for who in one["Principal"]["AWS"]
        for action in one["Action"]
        for where in one["Resource"]
        if one["Effect"] == "Allow"
    }


def test_a_member_changes_its_own_copies_alone_reads_all_and_has_no_key_of_the_bucket(made):
    out = made(OWN, *MEMBERS)
    bucket = out.all["ceph_rgw_buckets"][-1]
    assert (bucket["name"], bucket["versioning"]) == ("avadm-etcd", False)
    may = allowed(bucket["policy"])
    for own in ("k1", "k2"):
        mine = {(action, where) for who, action, where in may if who == f"avadm-etcd-{own}"}
        assert {w for a, w in mine if a not in ("s3:GetObject", *etcd_store.LIST)} == {f"avadm-etcd/{own}/*"}
        assert ("s3:GetObject", "avadm-etcd/*") in mine
        assert ("s3:ListBucket", "avadm-etcd") in mine
        assert {"s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"} <= {a for a, _ in mine}
    # The owner's key is recreated: all members had the one of before.
    assert bucket["access_key"] == "{{ vault_s3_access_avadm_copies }}"
    assert "avadm_copies" not in json.dumps(out.hosts)
    assert not {"vault_s3_access_avadm_etcd", "vault_s3_secret_avadm_etcd"} & set(out.secrets)


def test_copies_go_to_an_external_store_with_the_key_for_them_alone(made):
    there = {**EXTERNAL["external"], "region": "z0", "etcd_copies": {"bucket": "etcd"}}
    theirs = {**EXTERNAL, "external": there}
    out, one = made(theirs, *MEMBERS), site(theirs, *MEMBERS)
    names = {f"{k}_key": f"vault_etcd_copies_{k}_key" for k in ("access", "secret")}
    at = {"endpoint": "https://s3.kodo.test", "region": "z0", "bucket": "etcd"}
    for member in ("k1", "k2"):
        assert out.hosts[member]["etcd_store"] == at | {k: f"{{{{ {v} }}}}" for k, v in names.items()}
    assert out.all["etcd_store_ca_certificate"] == ""
    # Neither bucket nor policy is ours to make there.
    assert [b["name"] for b in out.all["ceph_rgw_buckets"]] == ["data"]
    assert "python3-boto3" in packages(theirs)
    held = {"vault_objects_access_key": "A", "vault_objects_secret_key": "S"}
    assert [f.found for f in objects.missing(one, held)] == [f"no {name}" for name in names.values()]
    assert objects.missing(one, {**held, **dict.fromkeys(names.values(), "x")}) == []


def test_no_two_members_share_a_key():
    members = sites.site(*(node(name, 6, "etcd") for name in ("a-b", "a--b", "ab"))).nodes
    assert len({etcd_store.key_names(member) for member in members}) == 3


def test_certificates_name_the_store_its_buckets_and_every_address(made):
    made(OWN)
    leaf = next(one for one in certificates.leaves(site(OWN)) if one.name == "rgw-s2")
    assert leaf.names == ("objects.demo.test", "*.objects.demo.test", "s2", "s2.demo.test")
    assert leaf.addresses == ("10.0.0.99", "10.0.0.2", "127.0.0.1")
    assert (leaf.server, leaf.client) == (True, False)


def test_every_node_knows_the_name_and_monitoring_asks_there(made):
    out = made(OWN)
    assert out.all["base_hosts"].splitlines()[-1] == "10.0.0.99 objects.demo.test"
    probes = [t for t in out.all["prometheus_targets"]["probe"] if t["labels"]["probe"].startswith("objects")]
    assert [t["targets"][0] for t in probes] == [f"https://10.0.0.{n}:7443/" for n in (1, 2, 99)]
    assert out.all["prometheus_more_rules"] == ["objects"]
    assert out.all["grafana_more_dashboards"] == ["objects"]


@pytest.mark.parametrize("profile", profiles.names())
def test_every_profile_names_the_packages(made, profile):
    out = made(OWN, profile=profile)
    for role in ("ceph_rgw", "objects_vip", "objects_client"):
        assert out.all[f"{role}_packages"]


def test_an_external_store_needs_no_gateway_and_its_keys_are_the_vaults(made):
    out = made(EXTERNAL)
    assert out.all["ceph_rgw_endpoint"] == "https://s3.kodo.test"
    assert out.all["ceph_rgw_own"] is False
    assert out.all["ceph_rgw_buckets"][0]["secret_key"] == "{{ vault_objects_secret_key }}"
    assert "ceph_rgw_users" not in out.all
    assert "grafana_more_dashboards" not in out.all
    assert "client.rgw.s1" not in json.dumps(out.all)


def test_an_external_store_whose_keys_no_one_gave_is_an_error_that_says_how():
    with pytest.raises(AvadmError) as error:
        objects.require(site(EXTERNAL), {"vault_objects_access_key": "A"})
    (finding,) = error.value.findings
    assert "vault_objects_secret_key" in finding.found
    assert "ansible-vault edit" in finding.remedy
    objects.require(site(EXTERNAL), {"vault_objects_access_key": "A", "vault_objects_secret_key": "S"})


def test_users_keys_are_kept_beside_the_site_file_for_its_owner_alone(tmp_path):
    held = {name: name.upper() for user in ("ai-lab", "free") for name in objects.key_names(user)}
    objects.keep_files(site(OWN), pki.KeyStore.open(tmp_path / "demo.yml"), held)
    path = tmp_path / "demo.objects.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = json.loads(path.read_text())
    assert kept["endpoint"] == "https://objects.demo.test:7443"
    assert kept["environment"]["AWS_REQUEST_CHECKSUM_CALCULATION"] == "when_required"
    assert objects.held_authority(tmp_path / "demo.yml") == kept["ca_certificate"]
    keys = {f"{kind}_key": f"VAULT_S3_{kind.upper()}_AI_LAB" for kind in ("access", "secret")}
    assert kept["users"]["ai-lab"] == keys


def test_keys_are_long_and_never_the_same():
    assert len({objects.secret_key() for _ in range(20)}) == 20
    assert all(len(objects.secret_key()) == 40 and objects.secret_key().isalnum() for _ in range(5))
    assert len(objects.access_key()) == 20
