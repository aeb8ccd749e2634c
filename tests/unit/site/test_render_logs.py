"""Logs in the site file: nothing without them; with them stores, certificates, a phase, and secrets' patterns."""

import re
from pathlib import Path

import pytest

from avadm.pki import plan as pki_plan
from avadm.pki import store as pki
from avadm.plan.phases import PHASES
from avadm.render import Vars, logs
from avadm.render.inventory import groups
from avadm.secrecy import LINE_PATTERNS, PATTERNS
from avadm.site import profile as profiles
from avadm.site.model import Site
from avadm.sitefile.rules.draft import Draft
from avadm.sitefile.rules.logs import RULES

NODES = [
    {"name": "s1", "address": "10.0.0.11", "roles": ["mon", "osd"]},
    {"name": "c1", "address": "10.0.0.21", "roles": ["client", "prometheus"]},
    {"name": "c2", "address": "10.0.0.22", "roles": ["prometheus"]},
]
PHASE = next(p for p in PHASES if p.name == "logs")


def site(**knobs: object) -> Site:
    data: dict[str, object] = {
        "name": "demo",
        "network": {"management": "10.0.0.0/24", "domain": "demo.test"},
        "nodes": NODES,
    }
    if knobs:
        data["components"] = {"logs": knobs}
    return Site.model_validate(data)


def rendered(one: Site, tmp_path: Path) -> Vars:
    path, out = tmp_path / "demo.yml", Vars()
    pki.issue(pki.Store.open(path), one, {name: make() for name, make in pki.makers(one).items()})
    logs.render(one, profiles.load("lab-bookworm"), pki.Store.open(path), out)
    return out


def test_a_site_without_logs_is_as_it_was(tmp_path: Path) -> None:
    out = rendered(site(), tmp_path)
    assert (out.all, out.hosts, out.secrets) == ({}, {}, {})
    assert PHASE.hosts(site()) == ()
    assert "log_store" not in groups(site())
    assert pki_plan.leaves(site()) == []


def test_stores_keep_and_all_nodes_send(tmp_path: Path) -> None:
    one = site(stores=["c2", "c1"], port=9500)
    out = rendered(one, tmp_path)
    urls = [{"name": "c2", "url": "https://10.0.0.22:9500"}, {"name": "c1", "url": "https://10.0.0.21:9500"}]
    assert out.all["log_shipper_stores"] == urls
    assert groups(one)["log_store"] == ["c2", "c1"]
    assert PHASE.hosts(one) == ("s1", "c1", "c2")
    assert out.hosts["c1"]["log_store_address"] == "10.0.0.21"
    assert "BEGIN CERTIFICATE" in out.hosts["c1"]["log_store_certificate"]
    assert "log_store_key" not in out.hosts["s1"]
    assert set(out.secrets) == {"vault_logs_password"}
    assert out.all["prometheus_more_rules"] == ["logs", "log_troubles"]


def test_only_nodes_with_ceph_read_its_files(tmp_path: Path) -> None:
    own = {"component": "app", "folder": "/srv/app", "names": "*.log"}
    out = rendered(site(stores=["c1", "c2"], files=[own]), tmp_path)
    assert out.hosts["c2"]["log_shipper_files"] == [own]
    assert [f["component"] for f in out.hosts["s1"]["log_shipper_files"]] == ["ceph", "app"]


@pytest.mark.parametrize(
    ("knobs", "checks"),
    [
        ({"stores": ["c1", "c2"]}, []),
        ({"stores": ["c1"]}, ["log-store-alone"]),
        ({"stores": ["c1", "c1"]}, ["log-store"]),
        ({"stores": ["c1", "c9"]}, ["log-store"]),
        ({"stores": ["c1", "c2"], "port": 9090}, ["port-clash", "port-clash"]),
    ],
)
def test_what_cannot_be_is_said(knobs: dict[str, object], checks: list[str]) -> None:
    draft = Draft(site(**knobs), lambda path: "site.yml:1", lambda path: True)
    assert [f.check for rule in RULES for f in rule(draft)] == checks


SECRETS = [
    ("password=hunter22 and on", "password=*** and on"),
    ('"token": "abcd1234",', '"token": "***",'),
    ("https://user:word@host/x", "https://***@host/x"),
    ("key AQ" + "Bv1+" * 9 + "== x", "key *** x"),
    ("Authorization: Bearer abcdefgh1234", "Authorization: Bearer ***"),
    ("A" * 64, "***"),
    ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "***"),
    (
        "basic authentication is off; the password was right",
        "basic authentication is off; the password was right",
    ),
]


@pytest.mark.parametrize(("line", "masked"), SECRETS)
def test_secrets_of_lines_are_masked(line: str, masked: str) -> None:
    for pattern in (*PATTERNS, *LINE_PATTERNS):
        line = pattern.masked(line)
    assert line == masked


@pytest.mark.parametrize("pattern", [*PATTERNS, *LINE_PATTERNS])
def test_both_ways_of_writing_an_expression_are_one(pattern: object) -> None:
    # Python has no \K: where there is one, what stands before it is kept, as Python's group 1.
    python, pcre = pattern.compiled().pattern, pattern.pcre()  # type: ignore[attr-defined]
    assert pcre.replace("\\K", "").replace("(?:", "(") == python.replace("(?:", "(")
    re.compile(pcre.replace("\\K", ""))
