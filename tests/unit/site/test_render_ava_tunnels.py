"""Between routed racks nodes reach AVA's pods from their tunnels' addresses: these are trusted, and no pod of the cluster is."""

from ipaddress import ip_network

import pytest
import yaml

from avadm.site.model import Site
from tests.unit.site.test_render_ava import SITE, objects

PODS, TUNNELS = "10.244.0.0/16", "10.250.0.0/24"
RACKS = {"rack_prefix": 28, "ipip": "cross_subnet", "tunnels": TUNNELS}


def racks(**network):
    """Return a site with networks of its own."""
    data = SITE.model_dump(mode="json", exclude_unset=True)
    for node in data["nodes"]:
        node["roles"] += ["client"] if "worker" in node["roles"] else []
    data["components"] |= {"ceph": {"filesystem": {"mount": "/mnt/cephfs"}}}
    return Site.model_validate(data | {"network": data["network"] | network})


def networks(value, kind=""):
    """Return every network and address below a value, as what it is written: ipBlock or entry of trusted_proxies."""
    if isinstance(value, dict):
        found = [(kind, value["cidr"])] if "cidr" in value else []
        return found + [one for key, under in value.items() for one in networks(under, key)]
    if isinstance(value, list):
        return [one for under in value for one in networks(under, kind)]
    return [(kind, value)] if kind == "trusted_proxies" else []


def trusted(folder, of):
    """Return what policies, the operator and the lists of proxies admit: place to networks."""
    found = {}
    made = objects(folder, "base.yml.j2", of) | objects(folder, "storage.yml.j2", of)
    for name, one in made.items():
        if one["kind"] == "NetworkPolicy":
            found[name] = networks(one["spec"].get("ingress", []))
        for file, text in one.get("data", {}).items() if one["kind"] == "ConfigMap" else ():
            if file.endswith(".yml"):
                found[file] = networks(yaml.safe_load(text))
    return {name: [ip_network(n) for _, n in rows] for name, rows in found.items()}


@pytest.mark.parametrize("network", [{}, {"rack_prefix": 28}, RACKS])
def test_no_pod_is_trusted_wherever_nodes_stand(tmp_path, network):
    found = trusted(tmp_path, racks(**network))
    assert not {n: rows for n, rows in found.items() if any(r.overlaps(ip_network(PODS)) for r in rows)}


def test_what_admits_the_ingress_or_the_masters_admits_their_tunnels(tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "racks").mkdir()
    plain = trusted(tmp_path / "plain", racks())
    wrapped = trusted(tmp_path / "racks", racks(**RACKS))
    gained = {name for name, rows in wrapped.items() if set(rows) - set(plain.get(name, []))}
    assert {ip_network(TUNNELS)} == {one for name in gained for one in set(wrapped[name]) - set(plain[name])}
    assert gained == {f"NetworkPolicy {part}" for part in ("all", "api", "gate", "storage")} | {
        f"{part}.yml" for part in ("api", "operator", "storage")
    }
