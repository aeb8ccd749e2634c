"""`site init --with`: proposed roles, addresses and GPUs, and the way from that file to what is rendered."""

import json
import re
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations, count

import pytest

from avadm.errors import AvadmError
from avadm.site.draft_file import NewNode
from avadm.site.draft_parts import PARTS, addresses, parse_gpus, parse_parts, place, with_gpus
from avadm.site.load import examine
from avadm.site.vault import PASSWORD_ENV

HOST = IPv4Address("10.0.0.11")
COUNTS = (3, 4, 7, 12)
COMBINED = [c for n in range(1, 6) for c in combinations(PARTS, n) if "ava" not in c or "kubernetes" in c]
FEW = {"quorum-single", "etcd-copies", "no-standby"}
"""What is stated of three or four nodes, and cannot be otherwise there."""


def nodes(number, gpus=0):
    plain = [NewNode(f"n{i}", HOST + i) for i in range(number)]
    return plain + [NewNode(f"g{i}", HOST + number + i, gpus=(4, "tesla-v100")) for i in range(gpus)]


def with_role(placed, role):
    return [n.name for n in placed if role in n.roles]


@pytest.fixture
def avadm(called, tmp_path, monkeypatch):
    """The command line in an empty folder."""
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    for name in ("AVADM_SITE", PASSWORD_ENV):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return called


def fill(path):
    """Write a device wherever one is asked for, as `disk approve` does."""
    serials = count()
    path.write_text(
        re.sub(r"devices: \[(?=\]  #)", lambda m: f"{m[0]}{{serial: S{next(serials)}}}", path.read_text())
    )


@pytest.mark.parametrize("profile", ["debian-12", "stated"])
@pytest.mark.parametrize(
    "parts",
    # The fewest, one in the middle and all; the rest in `make test-full`.
    [
        pytest.param(p, marks=[] if i in (0, len(COMBINED) // 2, len(COMBINED) - 1) else [pytest.mark.slow])
        for i, p in enumerate(COMBINED)
    ],
    ids=",".join,
)
@pytest.mark.parametrize("number", COUNTS)
def test_what_is_written_lacks_only_devices(number, parts, profile, avadm, tmp_path):
    flags = (
        "--addresses",
        f"10.0.0.11-{10 + number}",
        "--name",
        "room1",
        "--domain",
        "room1.test",
        "--profile",
        profile,
    )
    code, out, err = avadm("site", "init", *flags, "--with", ",".join(parts))
    assert (code, err) == (0, ""), out + err
    site_file, findings = examine(tmp_path / "site.yml", {"osd-without-devices"})
    assert site_file is not None, findings
    assert {f.check for f in findings} <= {"osd-without-devices", *allowed(number, parts, profile)}, findings
    fill(tmp_path / "site.yml")
    site_file, findings = examine(tmp_path / "site.yml")
    assert site_file is not None, findings
    assert {f.check for f in findings} <= allowed(number, parts, profile), findings


def allowed(number, parts, profile):
    """Return the warnings that a site of so many nodes may have."""
    few = FEW if number < 7 else set()
    return few | ({"no-backups"} if "ava" in parts and "objects" not in parts else set())


@pytest.mark.parametrize("number", COUNTS)
@pytest.mark.parametrize(
    ("parts", "gpus"),
    [("ava", 0), ("ava,objects,logs,cache", 1), ("logs,cache,objects", 0)],
    ids=["ava", "all", "storage"],
)
def test_from_the_first_file_to_an_inventory(number, parts, gpus, avadm, tmp_path):
    """init, check, show and render, with devices in between as `disk approve` writes them."""
    names = [f"s{i}" for i in range(number)] + [f"gpu{i}" for i in range(gpus)]
    (tmp_path / "hosts").write_text("".join(f"{name} {HOST + i}\n" for i, name in enumerate(names)))
    flags = ["--addresses", "hosts", "--name", "room1", "--domain", "room1.test", "--with", parts]
    flags += [word for i in range(gpus) for word in ("--gpu", f"gpu{i}=8:tesla-v100")]
    code, out, err = avadm("site", "init", *flags)
    assert (code, err) == (0, ""), out + err
    code, out, err = avadm("site", "check")
    assert code == 0, err
    assert "good as a draft" in out
    assert avadm("site", "show")[0] == 0
    fill(tmp_path / "site.yml")
    code, out, err = avadm("site", "check", "--json")
    assert (code, json.loads(out)["draft"]) == (0, False), out
    code, out, err = avadm("site", "render", "--out", "inventory", "--json")
    assert code == 0, out + err
    groups = json.loads(out)["groups"]
    assert len(groups.get("gpu", [])) == gpus
    assert bool(groups.get("master")) == ("ava" in parts)
    code, out, err = avadm("plan", "--offline")
    assert code == 0, out + err
    for phase, wanted in (("masters", "ava" in parts), ("ava", "ava" in parts), ("cache", "cache" in parts)):
        assert bool(re.search(rf"^\S*\s*{phase} ", out, re.MULTILINE)) == wanted, out


def test_the_proposed_addresses_are_named_with_a_request(avadm, tmp_path):
    flags = ("--addresses", "10.0.0.11-17", "--name", "room1", "--domain", "room1.test", "--with", "ava")
    _, out, _ = avadm("site", "init", *flags)
    assert "Check that no machine has them" in out
    text = (tmp_path / "site.yml").read_text()
    for key in ("api_vip", "ingress_vip", "vip"):
        address = re.search(rf"^ +{key}: (\S+)$", text, re.MULTILINE)[1]
        assert address in out
    steps = ["bootstrap", "preflight", "disk approve", "artifacts build", "plan", "apply", "ava create-admin"]
    places = [out.index(f"avadm {step}") for step in steps]
    assert places == sorted(places)


@pytest.mark.parametrize(("number", "masters"), [(3, 1), (4, 1), (6, 1), (7, 3), (12, 3), (64, 3), (200, 3)])
def test_masters(number, masters):
    placed = place(nodes(number), ("kubernetes",))
    own = with_role(placed, "master")
    assert own == with_role(placed, "etcd")
    assert len(own) == masters
    for role in ("alertmanager", "prometheus", "ingress", "worker"):
        assert not set(own) & set(with_role(placed, role)), role
    assert bool(set(own) & set(with_role(placed, "osd"))) == (masters == 1)
    assert len(with_role(placed, "worker")) >= 2


@pytest.mark.parametrize("number", [3, 5, 9])
def test_nodes_with_gpus_compute_and_nothing_else(number):
    placed = place(nodes(number, gpus=2), parse_parts(["ava,objects,logs,cache"]))
    for node in placed:
        if node.gpus:
            assert set(node.roles) == {"client", "worker", "gpu", "alluxio_worker"}
        else:
            assert "gpu" not in node.roles


def test_ava_brings_what_it_needs():
    assert parse_parts(["ava"]) == ("kubernetes", "ava", "logs")
    assert parse_parts(["logs, cache", "logs"]) == ("logs", "cache")
    placed = place(nodes(7), parse_parts(["ava"]))
    assert len(with_role(placed, "database")) == 2


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: parse_parts(["grafana"]), "grafana"),
        (lambda: parse_gpus(["g1=8"]), "g1=8"),
        (lambda: parse_gpus(["g1=0:a100"]), "g1=0:a100"),
        (lambda: parse_gpus(["g1=8:a100,g1=4:a100"]), "g1=4:a100"),
        (lambda: with_gpus(nodes(3), {"x": (1, "a100")}, ("kubernetes",)), "x"),
        (lambda: with_gpus(nodes(3), {"n0": (1, "a100")}, ("logs",)), "n0=1:a100"),
        (lambda: place(nodes(2, gpus=3), ("kubernetes",)), "2"),
        (lambda: place([NewNode("a", HOST, ("mon",))], ("logs",)), "roles of a"),
        (
            lambda: addresses(place(nodes(4), ("kubernetes",)), IPv4Network("10.0.0.11/32"), ("kubernetes",)),
            "ingress",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, found):
    with pytest.raises(AvadmError) as refused:
        call()
    assert found in refused.value.findings[0].found


def test_a_small_subnet_has_no_range_for_services():
    placed = place(nodes(3), ("kubernetes",))
    proposed = addresses(placed, IPv4Network("10.0.0.8/29"), ("kubernetes",))
    assert proposed.api and proposed.ingress
    assert proposed.first is None


def test_addresses_are_free():
    subnet = IPv4Network("10.0.0.0/24")
    high = [NewNode(f"n{i}", IPv4Address("10.0.0.244") + i) for i in range(8)]
    proposed = addresses(
        place(high, ("kubernetes", "ava", "objects")), subnet, ("kubernetes", "ava", "objects")
    )
    given = [proposed.api, proposed.ingress, proposed.database, proposed.objects]
    given += [proposed.first + i for i in range(6)]
    assert len(set(given)) == 10
    assert not set(given) & {n.address for n in high}
    assert all(a in subnet for a in given)
