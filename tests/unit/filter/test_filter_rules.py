"""The text of each node's rules, as it follows from the site file; what it does is tried in test_real_rules.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from avadm.components.ava.component import cache as ava_cache
from avadm.components.catalog import duties
from avadm.components.packet_filter import variables as packet_filter
from avadm.components.packet_filter.component import COMPONENT, FILTERING
from avadm.components.packet_filter.variables import texts
from avadm.site.load import load
from avadm.site.model import Site
from tests.unit.fakes import sites

ROOT = Path(__file__).parents[3]
INVENTORIES = sorted((ROOT / "inventory").glob("*.yml"))
NODES: list[dict[str, Any]] = [
    {"name": "s1", "address": "10.0.0.11", "storage_address": "10.1.0.11", "roles": ["mon", "osd"]},
    {"name": "m1", "address": "10.0.0.21", "roles": ["etcd", "master"]},
    {"name": "w1", "address": "10.0.0.31", "roles": ["worker", "ingress", "client"]},
    {"name": "w2", "address": "10.0.0.32", "roles": ["worker", "ingress", "client"]},
]


def rules(
    name: str, nodes: list[dict[str, Any]] = NODES, monitoring: Any = None, **network: Any
) -> dict[str, list[str]]:
    """Return chain to the rules of a node, without comments; sets as `@NAME`."""
    data = {"management": "10.0.0.0/24", "domain": "demo.test", **network}
    site = Site.model_validate(
        {"name": "demo", "network": data, "nodes": nodes, "components": {"monitoring": monitoring or {}}}
    )
    text = texts(site)[name]
    found = {
        chain: [line.partition(" #")[0].strip() for line in body.strip().splitlines()]
        for chain, body in re.findall(
            r"\tchain (\w+) \{\n(.*?)\n\t\}", text.partition("table ip6 avadm {")[0], re.S
        )
    }
    sets = re.findall(r"add set ip avadm (\w+) \{.*?elements = \{(.*?)\}", text, re.S)
    return found | {f"@{label}": members.replace(",", " ").split() for label, members in sets}


@pytest.mark.parametrize("path", INVENTORIES, ids=lambda p: p.stem)
def test_nft_0_5_and_ansible_can_read_it(path: Path) -> None:
    for text in set(texts(load(path).site).values()):
        assert max(map(len, re.findall(r"add set ip avadm (\w+)", text))) <= 15
        # It knows no `!= @set`, and finds no set that a table's block brings.
        assert "!= @" not in text
        assert not re.search(r"^\tset ", text, re.M)
        named = set(re.findall(r"@(\w+)", text))
        assert named == set(re.findall(r"add set ip avadm (\w+)", text))
        assert not re.search(r"\{\{|\{%|\{#", text)


@pytest.mark.parametrize("port", [22, 2222])
@pytest.mark.parametrize("name", ["s1", "m1", "w1"])
def test_ssh_is_let_in_from_everywhere_but_pods(name: str, port: int) -> None:
    site = Site.model_validate(
        {
            "name": "d",
            "network": {"management": "10.0.0.0/24", "domain": "d.test"},
            "nodes": NODES,
            "ssh": {"port": port},
        }
    )
    text = texts(site)[name]
    chains = dict(re.findall(r"\tchain (\w+) \{\n(.*?)\n\t\}", text.partition("table ip6 avadm {")[0], re.S))
    assert {c for c, body in chains.items() if f"tcp dport {port} accept" in body} == {"nodes", "outside"}
    assert f"tcp dport {port} accept" in text.partition("table ip6 avadm {")[2]


def test_a_site_without_kubernetes_has_no_pods() -> None:
    """What would be pods' addresses may be anybody's there."""
    found = rules("s1", [n for n in NODES if n["name"] == "s1"])
    assert set(found) == {"@nodes", "refused", "nodes", "outside", "input"}
    assert "10.244" not in str(found)


def test_pods_are_judged_on_their_own_node_and_on_the_way_to_others() -> None:
    assert "forward" not in rules("s1")
    found = rules("w1", storage="10.1.0.0/24", api_vip="10.0.0.250")
    assert found["forward"][-1] == "ip saddr 10.244.0.0/16 ip daddr @nodes goto away"
    assert set(found["@nodes"]) >= {"10.0.0.11", "10.1.0.11", "10.0.0.250"}
    assert "tcp dport 2379 accept" not in found["away"]
    assert "tcp dport 6443 accept" in found["away"]


def test_a_pod_of_another_node_comes_by_that_node_s_address() -> None:
    entry = {"port": 8000, "sources": ["pods"], "nodes": ["s1"], "why": "a page"}
    found = rules("s1", filter={"allow": [entry]})
    assert "tcp dport 8000 accept" in found["pods"]
    assert "ip saddr @kubernetes tcp dport 8000 accept" in found["nodes"]
    assert found["@kubernetes"] == ["10.0.0.21", "10.0.0.31", "10.0.0.32"]
    assert "tcp dport 8000 accept" in rules("w1", filter={"allow": [entry]})["away"]


def test_no_pod_reaches_a_port_of_the_cache_which_authenticates_no_client() -> None:
    """Masters' REST returns contents of files, and takes any client for the user that it names."""
    site = sites.site(
        sites.node("k1", 1, "etcd", "master"),
        sites.node("w1", 2, "worker", "dns", "ingress", "registry", "alluxio_master", "alluxio_worker"),
        sites.node("w2", 3, "worker", "ingress", "alluxio_worker"),
        sites.node("d1", 4, "database"),
        components={"database": {}, "ava": {}, "alluxio": {"mounts": [{"path": "/a", "cephfs": "/data"}]}},
    )
    assert ava_cache(site)
    cache = (19998, 19999, 19200, 29998, 29999)
    for name, text in texts(site).items():
        chains = dict(re.findall(r"\tchain (\w+) \{\n(.*?)\n\t\}", text, re.S))
        opened = {
            (chain, port)
            for chain, body in chains.items()
            for port in cache
            for line in body.splitlines()
            if re.search(rf"dport {port}\b", line)
        }
        assert {chain for chain, _ in opened} <= {"nodes"}, (name, opened)
        assert "@kubernetes tcp dport 19999" not in text, name
    assert "tcp dport 19999 accept" in texts(site)["w1"]


def test_who_holds_an_address_together_hears_each_other_and_no_other_user() -> None:
    found = rules("w1", ingress_vip="10.0.0.251")
    assert "ip saddr @ingress ip protocol 112 accept" in found["nodes"]
    assert found["@ingress"] == ["10.0.0.31", "10.0.0.32"]
    assert "protocol 112" not in str(rules("m1", ingress_vip="10.0.0.251"))


def test_packets_between_routed_racks_pass() -> None:
    assert "protocol 4" not in str(rules("w1"))
    found = rules("w1", ipip="cross_subnet", rack_prefix=28)
    assert "ip saddr @kubernetes ip protocol 4 accept" in found["nodes"]


def test_switches_come_to_the_routes_alone() -> None:
    found = rules("w1", bgp={"peers": [{"address": "10.0.0.1", "as_number": 64600}]})
    assert "ip saddr 10.0.0.1 tcp dport 179 accept" in found["outside"]
    assert "tcp dport 179 accept" not in found["outside"]


def test_the_site_s_own_prometheus_comes_from_outside() -> None:
    """By the address in its URL, or by the one that the site file names."""
    existing = {"existing": ["http://192.0.2.5:9090", "https://prometheus.example"]}
    found = rules("s1", monitoring=existing, filter={"prometheus": ["192.0.2.6"]})
    assert [r for r in found["outside"] if "9100" in r] == [
        f"ip saddr 192.0.2.{n} tcp dport 9100 accept" for n in (5, 6)
    ]


@pytest.mark.parametrize(
    ("sources", "chains"),
    [
        (["all"], {"pods", "nodes", "outside"}),
        (["nodes"], {"nodes"}),
        (["outside"], {"outside"}),
        (["10.0.0.0/8", "outside"], {"input", "outside"}),
    ],
)
def test_what_the_site_file_allows_passes_there_alone(sources: list[str], chains: set[str]) -> None:
    knobs = {
        "allow": [
            {"port": 7001, "last": 7003, "protocol": "udp", "sources": sources, "nodes": ["w*"], "why": "x"}
        ]
    }
    found = rules("w1", filter=knobs)
    seen = {
        c for c in ("pods", "nodes", "outside", "input") if any("udp dport 7001-7003" in r for r in found[c])
    }
    assert seen == chains
    assert "7001" not in str({c: r for c, r in rules("s1", filter=knobs).items() if c != "away"})


def test_a_network_that_is_allowed_says_nothing_of_pods_within_it() -> None:
    knobs = {"allow": [{"port": 7001, "sources": ["10.0.0.0/8"], "why": "x"}]}
    found = rules("w1", filter=knobs)["input"]
    assert found.index("ip saddr 10.244.0.0/16 goto pods") < found.index(
        "ip saddr 10.0.0.0/8 tcp dport 7001 accept"
    )


def test_addresses_of_every_network_of_pods_are_pods() -> None:
    data = {"management": "10.0.0.0/24", "domain": "d.test", "more_pods": ["10.245.0.0/16"]}
    text = texts(Site.model_validate({"name": "d", "network": data, "nodes": NODES}))["w1"]
    both = "ip saddr { 10.244.0.0/16, 10.245.0.0/16 }"
    assert f"{both} goto pods" in text
    assert f"{both} ip daddr @nodes goto away" in text


def test_a_reason_is_a_comment_and_nothing_else() -> None:
    knobs = {"allow": [{"port": 7001, "sources": ["all"], "why": "a\n accept }} {{ x"}]}
    data = {"management": "10.0.0.0/24", "domain": "d.test", "filter": knobs}
    text = texts(Site.model_validate({"name": "d", "network": data, "nodes": NODES}))["s1"]
    assert "tcp dport 7001 accept # site file: a accept )) (( x\n" in text


def test_a_text_is_made_once_for_all_nodes_of_a_kind() -> None:
    site = load(ROOT / "inventory/dgx-256.yml").site
    out = sites.render(site, packet_filter)
    assert len(out.all["packet_filter_rules"]) < 16
    kinds = {name: held["packet_filter_kind"] for name, held in out.hosts.items()}
    assert {name: out.all["packet_filter_rules"][kind] for name, kind in kinds.items()} == texts(site)
    assert len(str(out.hosts)) < 256 * 60


def test_every_node_filters_unless_the_site_file_says_otherwise() -> None:
    site = load(ROOT / "inventory/small.yml").site
    out = sites.render(site, packet_filter)
    assert set(out.hosts) == set(COMPONENT.phase.hosts(site)) == {n.name for n in site.nodes}
    assert all(FILTERING in duties(site, n) for n in site.nodes)


def test_a_site_that_does_not_filter_has_no_rules() -> None:
    site = Site.model_validate(
        {
            "name": "d",
            "network": {"management": "10.0.0.0/24", "domain": "d.test", "filter": {"enabled": False}},
            "nodes": NODES,
        }
    )
    out = sites.render(site, packet_filter)
    assert (out.all, out.hosts) == ({"packet_filter_enabled": False, "packet_filter_rules": {}}, {})
