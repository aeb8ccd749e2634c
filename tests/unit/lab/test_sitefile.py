from ipaddress import IPv4Network

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from avadm.site.components import Components
from avadm.site.load import examine
from avadm.site.model import Site
from avadm_lab import layout
from avadm_lab.layout import PARTS, Config, nodes
from avadm_lab.sitefile import check, text
from tests.unit.fakes.errors import refused

KEY = "ssh-ed25519 AAAAC3Nz"
OBJECTS = [{"storage": 1, "masters": 0}, {"storage": 3, "masters": 0}, {"storage": 3, "masters": 1}]


def written(config):
    labs = nodes(config)
    return text(config, labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142")


def made(**numbers):
    return Site.model_validate(YAML(typ="safe").load(written(Config(**numbers))))


def findings(folder, **numbers):
    """Return what the rules say of a lab's file, but of its keys."""
    (folder / "site.yml").write_text(written(Config(**numbers)))
    return [f for f in examine(folder / "site.yml")[1] if f.check != "host-key-syntax"]


def test_is_a_site_file_with_pinned_keys_and_approved_disks():
    site = made()
    assert site.profile == "lab-bookworm"
    assert site.packages.proxy == "http://10.77.0.1:3142"
    assert all(n.host_key == KEY for n in site.nodes)
    assert [d.by_id for d in site.node("stor1").devices] == [
        "/dev/disk/by-id/scsi-AVADM_LAB-stor1-b",
        "/dev/disk/by-id/scsi-AVADM_LAB-stor1-c",
    ]


def test_the_release_chooses_the_profile():
    assert made(release="bullseye").profile == "lab-bullseye"


def test_all_node_counts_give_a_valid_file():
    for storage, masters, compute in ((1, 0, 1), (2, 1, 1), (5, 3, 4)):
        site = made(storage=storage, masters=masters, compute=compute)
        assert len(site.nodes) == storage + masters + compute


@pytest.mark.parametrize(
    ("numbers", "single"),
    [
        ({"storage": 3, "masters": 0}, 0),
        ({"storage": 3, "masters": 1}, 2),
        ({"storage": 3, "masters": 3}, 0),
        ({"storage": 0, "masters": 3}, 0),
        ({"parts": ("cache",)}, 2),
        ({"parts": PARTS}, 2),
        *(({**numbers, "parts": ("objects",)}, None) for numbers in OBJECTS),
    ],
    ids=str,
)
def test_the_rules_find_no_error(numbers, single, tmp_path):
    found = findings(tmp_path, **numbers)
    wrong = [f for f in found if f.severity == "error"]
    # With objects: one storage node has no replicas.
    assert wrong == [] or (single is None and {f.check for f in wrong} == {"replicas-too-many"})
    assert single is None or sum(f.check == "quorum-single" for f in found) == single


@pytest.mark.parametrize(
    "numbers", [{"compute": 1}, {"compute": 1, "masters": 0}, {"compute": 1, "storage": 0}]
)
def test_numbers_that_give_no_valid_site_are_refused_with_those_that_would(numbers):
    config = Config(**numbers)
    findings = refused(check, config, nodes(config))
    assert "prometheus-replicas" in {f.check for f in findings}
    assert {f.remedy for f in findings} == {"Give --compute 2."}


def test_the_usual_numbers_are_not_refused():
    for numbers in (
        {},
        {"storage": 0, "masters": 3, "compute": 2},
        {"release": "bullseye", "masters": 0},
        {"release": "bullseye"},
        {"parts": PARTS},
    ):
        check(Config(**numbers), nodes(Config(**numbers)))


def test_the_virtual_addresses_and_each_nodes_shims_are_in_it():
    site = made(name="other", masters=1, subnet=IPv4Network("10.79.3.0/24"))
    assert (str(site.network.api_vip), str(site.network.ingress_vip)) == ("10.79.3.250", "10.79.3.251")
    pool = site.network.load_balancer
    assert (str(pool.first), str(pool.last)) == ("10.79.3.252", "10.79.3.254")
    assert site.extra_vars["docker_daemon_extra"]["default-runtime"] == "lab"
    assert all(n.vars == {} for n in site.nodes)
    assert site.node("comp2").gpus is not None


def test_without_masters_nothing_of_kubernetes_is_in_it():
    written = made(masters=0)
    assert written.network.api_vip is None
    assert list(written.extra_vars) == ["chrony_adjust_clock", "base_own_kernel"]
    assert all(n.vars == {} for n in written.nodes)


def test_a_part_without_options_of_the_labs_own_is_written_with_its_defaults(monkeypatch):
    optional = {key for key, field in Components.model_fields.items() if field.default is None}
    assert set(layout.PARTS) == set(layout.WRITTEN) | set(layout.PLAIN)
    assert {*layout.WRITTEN.values(), *layout.PLAIN} == optional
    for name in ("layout.PARTS", "sitefile.PLAIN"):
        monkeypatch.setattr(f"avadm_lab.{name}", (*layout.PARTS, "database"))
    assert made(parts=("database",), masters=0).components.database is not None
    assert made(masters=0).components.database is None


def test_an_unknown_part_is_refused():
    with pytest.raises(ValidationError, match="nothing: not one of objects, cache"):
        Config(parts=("logs", "nothing"))


def test_no_secret_is_in_it():
    assert "PRIVATE" not in written(Config())


@pytest.mark.parametrize("numbers", OBJECTS, ids=str)
def test_an_object_store_comes_only_where_it_is_named(numbers):
    site, without = made(**numbers, parts=("objects",)), made(**numbers)
    assert [n.name for n in site.with_role("rgw")] == ["stor1", "stor2"][: numbers["storage"]]
    assert str(site.components.object_store.vip) == "10.77.0.249"
    assert (without.components.object_store, without.with_role("rgw")) == (None, [])


def test_a_lab_has_a_cache_only_where_it_is_asked_for():
    assert made().components.alluxio is None
    site = made(parts=("cache",))
    assert site.components.alluxio is not None
    assert [n.name for n in site.with_role("alluxio_master")] == ["comp1"]
    assert [n.name for n in site.with_role("alluxio_worker")] == ["comp1", "comp2"]
    assert all("client" in n.roles for n in site.with_role("alluxio_client"))


def test_cache_and_object_store_together_have_a_bucket_that_the_cache_mounts():
    site = made(parts=("cache", "objects"))
    (_, bucket) = site.components.alluxio.mounts
    assert bucket.path == "/s3"
    assert bucket.s3.bucket in {b.name for b in site.components.object_store.buckets}
    assert [m.path for m in made(parts=("cache",)).components.alluxio.mounts] == ["/cephfs"]
    alone = made(parts=("objects",)).components.object_store.buckets
    assert "lab-cache" not in {b.name for b in alone}


def test_logs_are_kept_only_where_they_are_asked_for():
    assert made().components.logs is None
    assert made(parts=PARTS).components.logs.stores == ["comp1", "comp2"]


def test_postgresql_runs_where_there_is_etcd_and_on_two_nodes_with_an_address():
    assert made().components.database is None
    assert made(parts=PARTS, masters=0).components.database is None
    site = made(parts=PARTS)
    assert [n.name for n in site.with_role("database")] == ["comp2", "comp3"]
    assert str(site.components.database.vip) == "10.77.0.248"
    assert [n.name for n in made(parts=PARTS, compute=2).with_role("database")] == ["comp1", "comp2"]


def test_the_platform_brings_its_database_along_and_needs_masters():
    assert made().components.ava is None
    assert made(parts=PARTS, masters=0).components.ava is None
    site = made(parts=("ava",))
    assert site.components.ava is not None
    assert site.components.database is not None
