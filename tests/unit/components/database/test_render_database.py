"""Settings of PostgreSQL's nodes and etcd, and Patroni's configuration."""

import yaml
from cryptography import x509

from avadm.components.database import variables as database
from tests.unit.fakes import sites
from tests.unit.fakes.roles import given, template, value
from tests.unit.fakes.sites import node

SITE = sites.site(
    node("k1", 1, "etcd"),
    node("d1", 2, "database"),
    node("d2", 3, "database"),
    components={"database": {"vip": "10.0.0.99", "names": ["ava"]}},
)


def rendered(tmp_path, site=SITE):
    return sites.render(site, database, store=sites.issued(site, tmp_path))


def test_a_site_without_a_database_is_reported_nothing(tmp_path):
    out = rendered(tmp_path, sites.site(node("k1", 1, "etcd")))
    assert (out.all, out.hosts, out.secrets) == ({}, {}, {})


def test_passwords_are_the_vault_s_and_etcd_knows_one_user_more(tmp_path):
    out = rendered(tmp_path)
    assert out.all["database_users"] == {"ava": "{{ vault_database_ava }}"}
    assert {f"{{{{ {name} }}}}" for name in out.secrets} == {
        *out.all["database_users"].values(),
        *out.all["database_passwords"].values(),
    }
    assert len({make() for make in out.secrets.values()}) == len(out.secrets)
    assert out.all["etcd_more_users"] == [{"name": "patroni", "prefixes": [out.all["database_prefix"]]}]
    assert out.all["etcd_passwords"]["patroni"] == out.all["database_passwords"]["etcd"]
    assert "BEGIN CERTIFICATE" in out.hosts["d1"]["database_certificate"]
    shown = x509.load_pem_x509_certificate(out.hosts["d1"]["database_etcd_certificate"].encode())
    assert shown.subject.rfc4514_string() == "O=patroni", "etcd's gateway refuses a common name"


def configuration(tmp_path):
    out = rendered(tmp_path)
    passwords = {name: f'"{name}' for name in out.all["database_passwords"]}
    have = (
        given("database")
        | out.all
        | out.hosts["d1"]
        | {"database_passwords": passwords, "inventory_hostname": "d1"}
    )
    have |= {name: value(have[name], **have) for name in ("_database_data", "_database_cluster")}
    return yaml.safe_load(template("database/templates/config.yml.j2", **have))


def test_a_member_knows_its_own_address_and_asks_etcd_with_a_password_alone(tmp_path):
    report = configuration(tmp_path)
    assert report["restapi"]["connect_address"] == "10.0.0.2:8008"
    assert report["postgresql"]["data_dir"] == "/var/lib/postgresql/15/avadm"
    assert (report["etcd3"]["hosts"], report["etcd3"]["protocol"]) == (["10.0.0.1:2379"], "https")
    assert report["etcd3"]["password"] == '"etcd'
    dcs = report["bootstrap"]["dcs"]
    assert (dcs["synchronous_mode"], dcs["ttl"]) == (True, 15)
    # Patroni's own condition: a leader that is cut off has given up before its lease ends.
    assert dcs["ttl"] >= dcs["loop_wait"] + 2 * dcs["retry_timeout"]


def test_no_one_comes_without_tls_and_password_and_the_administrator_from_nowhere(tmp_path):
    rules = [rule.split() for rule in configuration(tmp_path)["postgresql"]["pg_hba"]]
    assert [rule for rule in rules if rule[0] != "hostssl"] == [["local", "all", "postgres", "peer"]]
    assert {rule[-1] for rule in rules if rule[0] == "hostssl"} == {"scram-sha-256", "reject"}
    # The first rule that fits counts.
    refused = ["hostssl", "all", "postgres,replicator,rewinder", "0.0.0.0/0", "reject"]
    assert rules.index(refused) < rules.index(["hostssl", "sameuser", "all", "0.0.0.0/0", "scram-sha-256"])
