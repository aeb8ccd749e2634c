"""Every example is a good site file that renders: the whole ones of inventory/, and each piece in the docs within a site."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from avadm.errors import AvadmError
from avadm.findings import errors
from avadm.inventory.render import render_inventory
from avadm.site.load import DRAFT, examine
from avadm.site.model import Site
from avadm.site.vault import PASSWORD_ENV, Vault

ROOT = Path(__file__).parents[3]
WHOLE = sorted((ROOT / "inventory").glob("*.yml"))
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0q2mJ2t3Vb0yA2C8v0rS7wD6gK5nQm1uXo9pYxZ3Ee"
STAND_INS = (
    ("ssh-ed25519 AAAA…", KEY),
    ("@sha256:…", "@sha256:" + "0" * 64),
    (", ...}", "}"),
)
"""What the docs leave out, and what stands for it here."""
AROUND = """
version: 1
name: around
profile: lab-bookworm
network:
  management: 10.0.0.0/24
  domain: lab.internal
  api_vip: 10.0.0.250
  ingress_vip: 10.0.0.251
nodes:
  - {name: stor1, address: 10.0.0.11, roles: [mon, mgr, osd, mds], devices: [{serial: S1}]}
  - {name: stor2, address: 10.0.0.12, roles: [mon, mgr, osd, mds], devices: [{serial: S2}]}
  - {name: stor3, address: 10.0.0.13, roles: [mon, mgr, osd, mds], devices: [{serial: S3}]}
  - {name: mast1, address: 10.0.0.14, roles: [etcd, master]}
  - {name: comp1, address: 10.0.0.15, roles: [client, worker, dns, ingress, registry, prometheus, alertmanager]}
  - {name: comp2, address: 10.0.0.16, roles: [client, worker, ingress, prometheus, alertmanager]}
  - {name: cpu01, address: 10.0.0.17, roles: [worker, database]}
  - {name: service1, address: 10.0.0.18, roles: [client]}
  - {name: gpu1, address: 10.0.0.19, roles: [client]}
components:
  database: {vip: 10.0.0.247}
"""
OWN_STORE = {
    "object_store": {
        "vip": "10.0.0.249",
        "users": [{"name": "a"}],
        "buckets": [{"name": "sets", "owner": "a"}],
    }
}


def around(piece):
    """Return the site around an example: what it takes for granted, without what it replaces."""
    site = yaml.safe_load(AROUND)
    components = piece.get("components") or {}
    if (components.get("monitoring") or {}).get("existing"):
        # The site's own Prometheus replaces those of the nodes.
        for node in site["nodes"]:
            node["roles"] = [r for r in node["roles"] if r not in {"prometheus", "alertmanager"}]
    if "alluxio" in components:
        site["components"] |= OWN_STORE
    if "ava_settings" in (piece.get("extra_vars") or {}):
        site["components"]["ava"] = {}
    return site


def pieces():
    """Return the text of each example of a site file in the docs."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        for block in re.finditer(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            line = text[: block.start()].count("\n") + 1
            yield pytest.param(block[1], id=f"{page.name}:{line}")


def read(text):
    """Return an example's data, with stand-ins for what it leaves out."""
    for old, new in STAND_INS:
        text = text.replace(old, new)
    return yaml.safe_load(text)


def merged(base, piece):
    """Return a site with a piece of one: nodes by name, everything else key by key."""
    if isinstance(base, dict) and isinstance(piece, dict):
        return base | {key: merged(base.get(key), value) for key, value in piece.items()}
    if isinstance(base, list) and piece and all(isinstance(p, dict) and "address" in p for p in piece):
        known = {n["name"]: n for n in base}
        return list((known | {p["name"]: known.get(p["name"], {}) | p for p in piece}).values())
    return piece


SITES = [p for p in pieces() if set(read(p.values[0]) or {"": 0}) <= set(Site.model_fields)]


def assert_good(path, folder):
    site_file, findings = examine(path, DRAFT)
    assert errors(findings) == []
    assert (rendered(site_file, folder).folder / "hosts.yml").is_file()


def rendered(site_file, folder):
    """Render a site; secrets that services of others have given out are put into the vault as they are asked for."""
    while True:
        try:
            return render_inventory(site_file, folder)
        except AvadmError as refused:
            asked = {n for f in refused.findings for n in re.findall(r"vault_\w+", f"{f.what} {f.found}")}
            held = Vault.open(site_file.path).ensure({})
            assert asked, refused
            assert not asked & set(held), refused
            Vault.open(site_file.path).ensure({name: lambda: "word" for name in asked})


@pytest.fixture(autouse=True)
def _vault(monkeypatch):
    monkeypatch.delenv(PASSWORD_ENV, raising=False)


def test_there_are_examples():
    assert {"minimal", "small", "lab", "dgx-256"} <= {p.stem for p in WHOLE}
    assert len(SITES) > 15


@pytest.mark.parametrize("path", WHOLE, ids=lambda p: p.stem)
def test_a_whole_example(path, tmp_path):
    shutil.copy(path, tmp_path)
    assert_good(tmp_path / path.name, tmp_path / "inventory")


@pytest.mark.parametrize("text", SITES)
def test_an_example_of_the_docs(text, tmp_path):
    piece = read(text)
    if "version" not in piece:
        piece = merged(around(piece), piece)
        gateways = (piece["components"].get("object_store") or {}).get("vip")
        if gateways and not any("rgw" in n["roles"] for n in piece["nodes"]):
            for node in piece["nodes"][:2]:
                node["roles"].append("rgw")
    (tmp_path / "s3-ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    path = tmp_path / "site.yml"
    path.write_text(yaml.safe_dump(piece, sort_keys=False, allow_unicode=True))
    assert_good(path, tmp_path / "inventory")
