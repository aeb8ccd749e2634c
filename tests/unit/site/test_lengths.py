"""Lengths of names: what `site check` accepts can be rendered, and what is too long is refused with the bound."""

import copy

import pytest
import yaml

from avadm.findings import errors
from avadm.inventory.render import render_inventory
from avadm.site.load import examine
from avadm.site.vault import PASSWORD_ENV
from tests.unit.site.test_examples import ROOT

SITE = yaml.safe_load((ROOT / "inventory/minimal.yml").read_text())
SITE["profile"] = "debian-12"
SITE["nodes"][0]["roles"].append("rgw")
SITE["nodes"][1]["roles"] += ["alluxio_master", "alluxio_worker"]
SITE["nodes"].append({"name": "mount1", "address": "10.30.0.31", "roles": ["client"]})
SITE["components"] |= {
    "object_store": {"users": [{"name": "u"}], "buckets": [{"name": "bkt", "owner": "u"}]},
    "alluxio": {"mounts": [{"path": "/d", "cephfs": "/d"}]},
}


def labels(length):
    """Return a domain of a length, of labels that DNS allows."""
    text = ("a" * 50 + ".") * 4
    return text[:length] if text[length - 1] != "." else text[: length - 1] + "a"


def node(index):
    return lambda site, length: site["nodes"][index].update(name="n" * length)


def ceph(**value):
    return lambda site, length: site["components"]["ceph"].update(
        {k: (v(length) if callable(v) else v) for k, v in value.items()}
    )


EDITS = {
    # What is edited, to the longest that is accepted.
    "master": (node(0), 52),
    "worker that makes volumes": (node(1), 46),
    "worker": (node(3), 46),
    "client alone": (node(4), 56),
    "domain": (lambda site, length: site["network"].update(domain=labels(length)), 56),
    "site": (lambda site, length: site.update(name="s" * length), 50),
    "store": (lambda site, length: site["components"]["object_store"].update(name=labels(length)), 64),
}


@pytest.fixture(autouse=True)
def _vault(monkeypatch):
    monkeypatch.delenv(PASSWORD_ENV, raising=False)


def looked_at(folder, edit, length):
    site = copy.deepcopy(SITE)
    edit(site, length)
    (folder / "site.yml").write_text(yaml.safe_dump(site))
    return examine(folder / "site.yml")


@pytest.mark.parametrize("name", EDITS)
def test_the_longest_that_is_accepted_renders_and_one_more_is_refused(name, tmp_path):
    edit = EDITS[name][0]
    longest = max(n for n in range(2, 64 + 6) if looked_at(tmp_path, edit, n)[0])
    site_file, _ = looked_at(tmp_path, edit, longest)
    render_inventory(site_file, tmp_path / "inventory")
    assert longest == EDITS[name][1]
    found = errors(looked_at(tmp_path, edit, longest + 1)[1])
    assert [f.check for f in found] == ["name-too-long"]
    assert f"at most {longest} characters" in found[0].wanted


EXTREMES = {
    "rack": lambda s: s["nodes"][0].update(rack="r" * 63),
    "name of the platform": lambda s: s["components"]["ava"].update(host="h" * 63),
    "account": lambda s: s["components"].update(
        kubernetes={"accounts": [{"name": "a" * 63, "role": "tenant", "namespaces": ["n" * 63]}]}
    ),
    "user and bucket": lambda s: s["components"]["object_store"].update(
        users=[{"name": "u" * 63}], buckets=[{"name": "b" * 63, "owner": "u" * 63}]
    ),
    "database": lambda s: s["components"]["database"].update(names=["ava", "d" * 63]),
    "registry": lambda s: s["components"].update(
        kubernetes={"registries": [{"name": "r" * 253 + ":65535", "ca": "-----BEGIN CERTIFICATE-----\n"}]}
    ),
    "model of GPUs": lambda s: s["nodes"][3]["gpus"].update(model="m" * 63),
    "file system": lambda s: s["components"]["ceph"].update(
        filesystem={"name": "c" * 64, "mount": "/" + "m" * 127}
    ),
    "pool": lambda s: s["components"]["ceph"].update(rbd_pools=[{"name": "p" * 64}]),
    "folder of the cache": lambda s: s["components"]["alluxio"].update(
        mounts=[{"path": "/" + "d" * 127, "cephfs": "/e"}]
    ),
    "log file": lambda s: s["components"].update(
        logs={"stores": ["stor1", "stor2"], "files": [{"component": "c" * 63, "folder": "/var/log/x"}]}
    ),
    "time server": lambda s: s.update(time={"servers": ["t" * 253]}),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_what_is_long_and_accepted_renders(name, tmp_path):
    site_file, findings = looked_at(tmp_path, lambda site, _: EXTREMES[name](site), 0)
    assert site_file is not None, errors(findings)
    render_inventory(site_file, tmp_path / "inventory")


@pytest.mark.parametrize(
    ("key", "edit"),
    [
        ("filesystem.name", lambda s: s["components"]["ceph"].update(filesystem={"name": "c" * 65})),
        ("filesystem.mount", lambda s: s["components"]["ceph"].update(filesystem={"mount": "/" + "m" * 128})),
        ("rbd_pools[0].name", lambda s: s["components"]["ceph"].update(rbd_pools=[{"name": "p" * 65}])),
        (
            "mounts[0].path",
            lambda s: s["components"]["alluxio"].update(mounts=[{"path": "/" + "d" * 128, "cephfs": "/e"}]),
        ),
        (
            "files[0].component",
            lambda s: s["components"].update(
                logs={"stores": ["stor1", "stor2"], "files": [{"component": "c" * 64, "folder": "/x"}]}
            ),
        ),
    ],
)
def test_what_becomes_a_name_of_a_file_or_unit_is_bounded(key, edit, tmp_path):
    site_file, findings = looked_at(tmp_path, lambda site, _: edit(site), 0)
    assert site_file is None
    (finding,) = errors(findings)
    assert key in finding.where
