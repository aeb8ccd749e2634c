from ruamel.yaml import YAML

from avadm.lab.layout import Config, nodes
from avadm.lab.sitefile import text
from avadm.site.model import Site

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
    for storage, compute in ((1, 1), (2, 1), (5, 4)):
        assert len(made(Config(storage=storage, compute=compute)).nodes) == storage + compute


def test_no_secret_is_in_it():
    labs = nodes(Config())
    assert "PRIVATE" not in text(Config(), labs, {n.name: KEY for n in labs}, "http://10.77.0.1:3142")
