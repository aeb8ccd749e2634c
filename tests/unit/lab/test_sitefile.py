from ipaddress import IPv4Network

import pytest
from ruamel.yaml import YAML

from avadm.errors import AvadmError
from avadm.lab.layout import PARTS, Config, nodes
from avadm.lab.sitefile import check, text
from avadm.site.model import Site
from avadm.sitefile.load import examine

KEY = "ssh-ed25519 AAAAC3Nz"


def made(config: Config) -> Site:
    labs = nodes(config)
    return Site.model_validate(
        YAML(typ="safe").load(text(config, labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142"))
    )


def test_is_a_site_file_with_pinned_keys_and_approved_disks():
    site = made(Config())
    assert site.profile == "lab-bookworm"
    assert site.packages.proxy == "http://10.77.0.1:3142"
    assert all(n.host_key == KEY for n in site.nodes)
    assert [d.by_id for d in site.node("stor1").devices] == [
        "/dev/disk/by-id/scsi-AVADM_LAB-stor1-b",
        "/dev/disk/by-id/scsi-AVADM_LAB-stor1-c",
    ]


def test_the_release_chooses_the_profile():
    assert made(Config(release="bullseye")).profile == "lab-bullseye"


def test_all_node_counts_give_a_valid_file():
    for storage, masters, compute in ((1, 0, 1), (2, 1, 1), (5, 3, 4)):
        config = Config(storage=storage, masters=masters, compute=compute)
        assert len(made(config).nodes) == storage + masters + compute


@pytest.mark.parametrize(("storage", "masters", "single"), [(3, 0, 0), (3, 1, 2), (3, 3, 0), (0, 3, 0)])
def test_the_rules_find_no_error(storage, masters, single, tmp_path):
    config = Config(storage=storage, masters=masters)
    labs = nodes(config)
    file = tmp_path / "site.yml"
    file.write_text(text(config, labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142"))
    found = [f for f in examine(file)[1] if f.check != "host-key-syntax"]
    assert [f for f in found if f.severity == "error"] == []
    assert sum(f.check == "quorum-single" for f in found) == single


@pytest.mark.parametrize(
    "numbers", [{"compute": 1}, {"compute": 1, "masters": 0}, {"compute": 1, "storage": 0}]
)
def test_numbers_that_give_no_valid_site_are_refused_with_those_that_would(numbers):
    config = Config(**numbers)
    with pytest.raises(AvadmError) as refused:
        check(config, nodes(config))
    assert "prometheus-replicas" in {f.check for f in refused.value.findings}
    assert {f.remedy for f in refused.value.findings} == {"Give --compute 2."}


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
    site = made(Config(name="other", masters=1, subnet=IPv4Network("10.79.3.0/24")))
    assert (str(site.network.api_vip), str(site.network.ingress_vip)) == ("10.79.3.250", "10.79.3.251")
    pool = site.network.load_balancer
    assert (str(pool.first), str(pool.last)) == ("10.79.3.252", "10.79.3.254")
    assert site.extra_vars["docker_daemon_extra"]["default-runtime"] == "lab"
    assert all(n.vars == {} for n in site.nodes)
    assert site.node("comp2").gpus is not None


def test_without_masters_nothing_of_kubernetes_is_in_it():
    written = made(Config(masters=0))
    assert written.network.api_vip is None
    assert list(written.extra_vars) == ["chrony_adjust_clock", "base_own_kernel"]
    assert all(n.vars == {} for n in written.nodes)


def test_no_secret_is_in_it():
    labs = nodes(Config())
    assert "PRIVATE" not in text(Config(), labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142")


@pytest.mark.parametrize(("storage", "masters"), [(1, 0), (3, 0), (3, 1)])
def test_an_object_store_comes_only_where_it_is_named_and_the_rules_find_no_error(storage, masters, tmp_path):
    config = Config(storage=storage, masters=masters, parts=("objects",))
    site = made(config)
    assert [n.name for n in site.with_role("rgw")] == ["stor1", "stor2"][:storage]
    assert str(site.components.object_store.vip) == "10.77.0.249"
    without = made(config.model_copy(update={"parts": ()}))
    assert (without.components.object_store, without.with_role("rgw")) == (None, [])
    labs = nodes(config)
    file = tmp_path / "site.yml"
    file.write_text(text(config, labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142"))
    assert [
        f
        for f in examine(file)[1]
        if f.severity == "error" and f.check not in ("host-key-syntax", "replicas-too-many")
    ] == []


def test_a_lab_has_a_cache_only_where_it_is_asked_for(tmp_path):
    assert made(Config()).components.alluxio is None
    site = made(Config(parts=("cache",)))
    assert site.components.alluxio is not None
    assert [n.name for n in site.with_role("alluxio_master")] == ["comp1"]
    assert [n.name for n in site.with_role("alluxio_worker")] == ["comp1", "comp2"]
    assert all("client" in n.roles for n in site.with_role("alluxio_client"))
    labs = nodes(Config(parts=("cache",)))
    file = tmp_path / "site.yml"
    file.write_text(
        text(Config(parts=("cache",)), labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142")
    )
    assert [f for f in examine(file)[1] if f.severity == "error" and f.check != "host-key-syntax"] == []


def test_cache_and_object_store_together_have_a_bucket_that_the_cache_mounts(tmp_path):
    both = Config(parts=("cache", "objects"))
    site = made(both)
    (_, bucket) = site.components.alluxio.mounts
    assert bucket.path == "/s3"
    assert bucket.s3.bucket in {b.name for b in site.components.object_store.buckets}
    assert [m.path for m in made(Config(parts=("cache",))).components.alluxio.mounts] == ["/cephfs"]
    assert "lab-cache" not in {
        b.name for b in made(Config(parts=("objects",))).components.object_store.buckets
    }


def test_logs_are_kept_only_where_they_are_asked_for_and_all_parts_go_together(tmp_path):
    assert made(Config()).components.logs is None
    every = Config(parts=PARTS)
    assert made(every).components.logs.stores == ["comp1", "comp2"]
    labs = nodes(every)
    file = tmp_path / "site.yml"
    file.write_text(text(every, labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142"))
    assert [f for f in examine(file)[1] if f.severity == "error" and f.check != "host-key-syntax"] == []
