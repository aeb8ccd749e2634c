"""A first site file: proposals, ranges, and a text that loads."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from avadm.errors import AvadmError
from avadm.sitefile.init import (
    NewNode,
    NewSite,
    management_of,
    parse_addresses,
    parse_node,
    propose,
    text_of,
    with_kubernetes,
    write,
)
from avadm.sitefile.load import examine


def test_node() -> None:
    assert parse_node("s1=10.0.0.1:mon,osd") == NewNode("s1", IPv4Address("10.0.0.1"), ("mon", "osd"))
    assert parse_node("s1=10.0.0.1").roles == ()
    with pytest.raises(AvadmError):
        parse_node("s1")


@pytest.mark.parametrize(
    ("text", "names", "last"),
    [
        ("10.0.0.11-16", 6, "10.0.0.16"),
        ("10.0.0.250-10.0.1.3", 10, "10.0.1.3"),
        ("10.0.0.8/29", 6, "10.0.0.14"),
        ("10.0.0.1,10.0.0.5 10.0.0.9", 3, "10.0.0.9"),
    ],
)
def test_ranges(text: str, names: int, last: str) -> None:
    nodes = parse_addresses(text)
    assert (len(nodes), str(nodes[-1].address)) == (names, last)
    assert nodes[0].name in ("node1", "node01")


@pytest.mark.parametrize(
    "text", ["10.0.0.9-3", "10.0.0.1-10.9.0.1", "x", "10.0.0.0/8", "1.2.3", "10.0.0.1/33", "", "# none"]
)
def test_bad_ranges(text: str) -> None:
    with pytest.raises(AvadmError):
        parse_addresses(text)


def test_file_of_addresses(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# hosts\nalpha 10.0.0.1\n10.0.0.2 beta  # comment\n10.0.0.7-8\n")
    assert [n.name for n in parse_addresses(str(path))] == ["alpha", "beta", "node3", "node4"]


def test_management_holds_all() -> None:
    assert management_of([IPv4Address("10.0.0.9"), IPv4Address("10.0.0.11")]) == IPv4Network("10.0.0.0/24")
    assert management_of([IPv4Address("10.0.0.9"), IPv4Address("10.0.3.1")]) == IPv4Network("10.0.0.0/22")


@pytest.mark.parametrize("count", [3, 4, 5, 6, 12, 64, 256])
def test_proposal_lacks_only_devices(count: int, tmp_path: Path) -> None:
    addresses = [IPv4Address("10.0.0.1") + i for i in range(count)]
    nodes = propose([NewNode(f"n{i}", a) for i, a in enumerate(addresses)])
    text = text_of(NewSite("x", "x.example.com", management_of(addresses), tuple(nodes)))
    path = tmp_path / "site.yml"
    path.write_text(text)
    assert {f.check for f in examine(path)[1] if f.severity == "error"} == {"osd-without-devices"}
    filled = text.replace("devices: []  #", "devices: [{serial: %}]  #")
    for i in range(count):
        filled = filled.replace("%", f"S{i}", 1)
    path.write_text(filled)
    site_file, findings = examine(path)
    assert site_file is not None, findings


@pytest.mark.parametrize(("count", "masters"), [(6, 0), (7, 1), (8, 1), (9, 3), (12, 3), (64, 3), (256, 3)])
def test_what_is_written_of_kubernetes_holds(count: int, masters: int, tmp_path: Path) -> None:
    """The roles in the comments, and two virtual addresses: a site that is whole."""
    addresses = [IPv4Address("10.0.0.1") + i for i in range(count)]
    nodes = propose([NewNode(f"n{i}", a) for i, a in enumerate(addresses)])
    text = text_of(NewSite("x", "x.example.com", IPv4Network("10.0.0.0/22"), tuple(nodes)))
    text = re.sub(r"roles: \[.*\]  # with Kubernetes: ", "roles: ", text)
    assert text.count("master]") == masters
    if masters:
        text = text.replace("# api_vip: ADDRESS", "api_vip: 10.0.3.1")
        text = text.replace("# ingress_vip: ADDRESS", "ingress_vip: 10.0.3.2")
        text = text.replace(
            "# load_balancer: {first: ADDRESS, last: ADDRESS}",
            "load_balancer: {first: 10.0.3.8, last: 10.0.3.9}",
        )
    for i in range(count):
        text = text.replace("devices: []  #", f"devices: [{{serial: S{i}}}]  #", 1)
    path = tmp_path / "site.yml"
    path.write_text(text)
    site_file, findings = examine(path)
    assert site_file is not None, findings
    site = site_file.site
    assert len(site.with_role("master")) == len(site.with_role("etcd")) == masters
    assert bool(site.with_role("worker")) == bool(masters)
    assert not {n.name for n in site.with_role("master")} & {n.name for n in site.with_role("alertmanager")}


def test_kubernetes_is_not_proposed_twice() -> None:
    nodes = propose([NewNode(f"n{i}", IPv4Address("10.0.0.1") + i) for i in range(12)])
    assert with_kubernetes(nodes)
    assert with_kubernetes([*nodes, NewNode("m", IPv4Address("10.0.0.99"), ("master",))]) == {}


def test_given_roles_are_kept() -> None:
    nodes = [NewNode("a", IPv4Address("10.0.0.1"), ("mon",)), NewNode("b", IPv4Address("10.0.0.2"))]
    assert propose(nodes) == nodes


@pytest.mark.parametrize("value", ["no", "17", "a: b", "x # y", "'", "{{ lookup('pipe', 'id') }}", "é"])
def test_values_are_quoted(value: str, tmp_path: Path) -> None:
    node = NewNode("a", IPv4Address("10.0.0.1"))
    path = tmp_path / "site.yml"
    path.write_text(text_of(NewSite(value, value, IPv4Network("10.0.0.0/24"), (node,), user=value)))
    assert not [f for f in examine(path)[1] if f.check.startswith("yaml")]


def test_never_over_a_file(tmp_path: Path) -> None:
    path = tmp_path / "site.yml"
    path.write_text("mine")
    with pytest.raises(AvadmError):
        write(path, "theirs", force=False)
    assert path.read_text() == "mine"
    write(path, "theirs", force=True)
    assert path.read_text() == "theirs"
