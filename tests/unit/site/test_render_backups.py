"""Backup settings of PostgreSQL's nodes, permissions, and pgbackrest's configuration."""

import pytest

from avadm.components.database import variables as database
from avadm.components.database_backup import bucket_policy as database_store
from avadm.components.database_backup import component
from avadm.components.database_backup import variables as backups
from avadm.components.objects import variables as objects
from tests.unit.fakes import sites
from tests.unit.fakes.roles import given, template
from tests.unit.fakes.sites import node

NODES = (
    node("k1", 1, "etcd"),
    node("d1", 2, "database"),
    node("d-2", 3, "database"),
    node("s1", 4, "mon", "rgw"),
)


def site(backup=None, store=True, **more):
    knobs = {"vip": "10.0.0.99", **({"backup": backup} if backup is not None else {})}
    return sites.site(
        *NODES, components={"database": knobs, **({"object_store": {}} if store else {}), **more}
    )


def rendered(tmp_path, one):
    from avadm.inventory.model import Variables

    out = Variables(all={"base_hosts": ""})
    return sites.render(one, database, objects, backups, store=sites.issued(one, tmp_path), out=out)


def test_each_member_has_keys_of_its_own_and_the_owner_s_are_on_no_node(tmp_path):
    out = rendered(tmp_path, site())
    report = {name: out.hosts[name]["database_backup_repository"] for name in ("d1", "d-2")}
    assert {one["bucket"] for one in report.values()} == {"avadm-database"}
    assert report["d1"]["endpoint"] == "https://objects.demo.test:7443"
    keys = {one["secret_key"] for one in report.values()}
    assert len(keys) == 2
    assert f"{{{{ {database_store.OWNER_KEYS[1]} }}}}" not in keys
    assert {u["name"] for u in out.all["ceph_rgw_users"]} >= {
        "avadm-database",
        "avadm-database-d1",
        "avadm-database-d-2",
    }
    assert out.all["database_backup_cipher"] == "{{ vault_database_backup_cipher }}"
    assert {*database_store.OWNER_KEYS, "vault_database_backup_cipher"} <= set(out.secrets)


def test_a_member_may_remove_no_version_and_change_no_rule(tmp_path):
    bucket = next(
        b for b in rendered(tmp_path, site()).all["ceph_rgw_buckets"] if b["name"] == "avadm-database"
    )
    assert (bucket["versioning"], bucket["former_days"]) == (True, 14)
    may = {
        action
        for statement in bucket["policy"]["Statement"]
        if any("avadm-database-" in who for who in statement["Principal"]["AWS"])
        for action in statement["Action"]
    }
    kept = {
        "GetObject",
        "PutObject",
        "DeleteObject",
        "AbortMultipartUpload",
        "ListBucket",
        "ListBucketMultipartUploads",
    }
    assert may == {f"s3:{action}" for action in kept}


@pytest.mark.parametrize(
    "one",
    [site(store=False), sites.site(*NODES, components={"database": {"backup": None}, "object_store": {}})],
    ids=["no store", "none wanted"],
)
def test_without_a_place_there_is_no_phase_and_nothing_is_reported(tmp_path, one):
    assert component.COMPONENT.phase.hosts(one) == ()
    assert not any("database_backup" in name for name in rendered(tmp_path, one).all)


def test_a_folder_takes_the_place_of_the_store(tmp_path):
    one = site(backup={"directory": "/mnt/backups"}, store=False)
    out = rendered(tmp_path, one)
    assert component.COMPONENT.phase.hosts(one) == ("d1", "d-2")
    assert out.hosts["d1"]["database_backup_repository"] == {"directory": "/mnt/backups"}
    assert configuration(out)["repo1-type"] == "posix"
    # Beside a store too: what is named counts.
    both = rendered(tmp_path, site(backup={"directory": "/mnt/backups"}))
    assert not any("avadm-database" in b["name"] for b in both.all["ceph_rgw_buckets"])


def configuration(out):
    have = given("database_backup") | out.all | out.hosts["d1"] | {name: name for name in out.secrets}
    lines = template("database_backup/templates/pgbackrest.conf.j2", **have).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_pgbackrest_encrypts_and_does_not_let_the_disk_fill(tmp_path):
    report = configuration(rendered(tmp_path, site(backup={"waiting_gib": 3, "weeks_kept": 9})))
    assert (report["repo1-s3-endpoint"], report["repo1-storage-port"]) == ("objects.demo.test", "7443")
    assert (report["repo1-cipher-type"], report["repo1-cipher-pass"]) == (
        "aes-256-cbc",
        "vault_database_backup_cipher",
    )
    assert report["archive-push-queue-max"] == "3072MB"
    assert report["repo1-retention-full"] == "9"
    assert report["repo1-storage-ca-file"] == "/etc/pgbackrest/ca.crt"
    assert report["pg1-path"] == "/var/lib/postgresql/15/avadm"
