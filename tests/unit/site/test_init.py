"""A first site file: proposals, ranges, and a text that loads."""

import re
from ipaddress import IPv4Address, IPv4Network
from itertools import count

import pytest

from avadm.errors import AvadmError
from avadm.site.draft_file import (
    NewNode,
    NewSite,
    management_of,
    parse_addresses,
    parse_node,
    propose,
    text_of,
    write,
)
from avadm.site.load import examine

HOST = IPv4Address("10.0.0.1")


def nodes(number):
    return propose([NewNode(f"n{i}", HOST + i) for i in range(number)])


def text(network, proposed):
    return text_of(NewSite("x", "x.example.com", network, tuple(proposed)))


def filled(written):
    """Return a text with a device wherever one is asked for."""
    serials = count()
    return re.sub(r"devices: \[(?=\]  #)", lambda m: f"{m[0]}{{serial: S{next(serials)}}}", written)


@pytest.fixture
def examined(tmp_path):
    def look(written):
        (tmp_path / "site.yml").write_text(written)
        return examine(tmp_path / "site.yml")

    return look


def test_a_node_is_a_name_an_address_and_roles():
    assert parse_node("s1=10.0.0.1:mon,osd") == NewNode("s1", HOST, ("mon", "osd"))
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
def test_ranges(text, names, last):
    found = parse_addresses(text)
    assert (len(found), str(found[-1].address)) == (names, last)
    assert found[0].name in ("node1", "node01")


@pytest.mark.parametrize(
    "text", ["10.0.0.9-3", "10.0.0.1-10.9.0.1", "x", "10.0.0.0/8", "1.2.3", "10.0.0.1/33", "", "# none"]
)
def test_bad_ranges(text):
    with pytest.raises(AvadmError):
        parse_addresses(text)


@pytest.mark.parametrize(
    "text", ["fd00::1", "2001:db8::1", "10.0.0.1,fe80::1", "fd00::/64", "::1", "fd00::1-5"]
)
def test_ipv6_is_named_as_what_it_is(text):
    with pytest.raises(AvadmError) as refused:
        parse_addresses(text)
    (finding,) = refused.value.findings
    assert finding.what == "IPv6 is not supported."
    assert "::" in finding.found
    with pytest.raises(AvadmError, match="IPv6 is not supported"):
        parse_node(f"s1={text.rpartition(',')[2]}:mon")


def test_a_list_that_is_no_file_and_no_address_says_so():
    with pytest.raises(AvadmError) as refused:
        parse_addresses("hosts.txt")
    (finding,) = refused.value.findings
    assert finding.found == "hosts.txt"
    assert "file" in finding.wanted


def test_file_of_addresses(tmp_path):
    path = tmp_path / "hosts"
    path.write_text("# hosts\nalpha 10.0.0.1\n10.0.0.2 beta  # comment\n10.0.0.7-8\n")
    assert [n.name for n in parse_addresses(str(path))] == ["alpha", "beta", "node3", "node4"]


def test_management_holds_all():
    assert management_of([HOST, HOST + 250]) == IPv4Network("10.0.0.0/24")
    assert management_of([HOST, HOST + 3 * 256]) == IPv4Network("10.0.0.0/22")


@pytest.mark.parametrize("number", [3, 4, 5, 6, 12, 64, 256])
def test_proposal_lacks_only_devices(number, examined):
    proposed = nodes(number)
    written = text(management_of([n.address for n in proposed]), proposed)
    assert {f.check for f in examined(written)[1] if f.severity == "error"} == {"osd-without-devices"}
    site_file, findings = examined(filled(written))
    assert site_file is not None, findings


def test_given_roles_are_kept():
    given = [NewNode("a", HOST, ("mon",)), NewNode("b", HOST + 1)]
    assert propose(given) == given


@pytest.mark.parametrize("value", ["no", "17", "a: b", "x # y", "'", "{{ lookup('pipe', 'id') }}", "é"])
def test_values_are_quoted(value, examined):
    site = NewSite(value, value, IPv4Network("10.0.0.0/24"), (NewNode("a", HOST),), user=value)
    assert not [f for f in examined(text_of(site))[1] if f.check.startswith("yaml")]


def test_never_over_a_file(tmp_path):
    path = tmp_path / "site.yml"
    path.write_text("mine")
    with pytest.raises(AvadmError):
        write(path, "theirs", force=False)
    assert path.read_text() == "mine"
    write(path, "theirs", force=True)
    assert path.read_text() == "theirs"
