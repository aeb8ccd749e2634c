"""Logs in the site file: nothing without them; with them stores, certificates, a phase, and secrets' patterns."""

import hashlib
import re

import pytest

from avadm.components import certificates
from avadm.components.catalog import PHASES
from avadm.components.logs import variables as logs
from avadm.components.logs.rules import RULES
from avadm.inventory.render import groups
from avadm.pki.model import Authority
from avadm.secret_patterns import LINE_PATTERNS, PATTERNS
from avadm.site.draft import Draft
from avadm.site.rules import ports
from tests.unit.cost import growth
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node

NODES = [
    node("s1", 11, "mon", "osd"),
    node("c1", 21, "client", "prometheus"),
    node("c2", 22, "prometheus"),
]
PHASE = next(p for p in PHASES if p.name == "logs")


def site(**knobs):
    return sites.site(*NODES, components={"logs": knobs} if knobs else {})


def rendered(one, tmp_path):
    return sites.render(one, logs, store=sites.issued(one, tmp_path))


def test_a_site_without_logs_is_as_it_was(tmp_path):
    out = rendered(site(), tmp_path)
    assert (out.all, out.hosts, out.secrets) == ({}, {}, {})
    assert PHASE.hosts(site()) == ()
    assert "log_store" not in groups(site())
    assert not [leaf for leaf in certificates.leaves(site()) if leaf.authority is Authority.LOGS]


def test_stores_keep_and_all_nodes_send(tmp_path):
    one = site(stores=["c2", "c1"], port=9500)
    out = rendered(one, tmp_path)
    urls = [{"name": "c2", "url": "https://10.0.0.22:9500"}, {"name": "c1", "url": "https://10.0.0.21:9500"}]
    assert out.all["log_shipper_stores"] == urls
    assert groups(one)["log_store"] == ["c2", "c1"]
    assert PHASE.hosts(one) == ("s1", "c1", "c2")
    assert out.hosts["c1"]["log_store_address"] == "10.0.0.21"
    assert "BEGIN CERTIFICATE" in out.hosts["c1"]["log_store_certificate"]
    assert "log_store_key" not in out.hosts["s1"]
    assert set(out.secrets) == {"vault_logs_reader_password", "vault_logs_shipper_password"}
    assert out.all["prometheus_more_rules"] == ["logs", "log_troubles"]


def test_no_node_but_the_stores_has_the_password_by_which_logs_are_read(tmp_path):
    out = rendered(site(stores=["c1", "c2"]), tmp_path)
    everywhere = {k: str(v) for k, v in {**out.all, **out.hosts["s1"]}.items()}
    assert not [k for k, text in everywhere.items() if "vault_logs_reader_password" in text]
    assert out.all["log_shipper_user"] == out.hosts["c1"]["log_store_shipper_name"] != logs.USER
    assert out.all["log_shipper_password"] == out.hosts["c1"]["log_store_shipper_password"]
    assert out.all["log_shipper_password"] != out.hosts["c1"]["log_store_password"]


def test_only_nodes_with_ceph_read_its_files(tmp_path):
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
        ({"stores": ["c1", "c2"], "port": 9090}, ["port-clash"]),
    ],
)
def test_what_cannot_be_is_shown(knobs, checks):
    draft = Draft(site(**knobs), lambda path: "site.yml:1", lambda path: True)
    assert [f.check for rule in [*RULES, *ports.RULES] for f in rule(draft)] == checks


RIGHT = "basic authentication is off; the password was right"


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("password=hunter22 and on", "password=*** and on"),
        ('"token": "abcd1234efgh5678",', '"token": "***",'),
        ("token: hf_" + "aB3x" * 8, "token: ***"),
        ("using hf_" + "aB3x" * 8 + " now", "using *** now"),
        ("SECRET_KEY = '0x12ab'", "SECRET_KEY = '***'"),
        ("https://user:word@host/x", "https://***@host/x"),
        ("key AQ" + "Bv1+" * 9 + "== x", "key *** x"),
        ("Authorization: Bearer abcdefgh1234", "Authorization: Bearer ***"),
        ("aB3+" * 16, "***"),
        ("aB3+" * 17 + "aB", "***"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "***"),
        (RIGHT, RIGHT),
    ],
)
def test_secrets_of_lines_are_masked(line, masked):
    for pattern in (*PATTERNS, *LINE_PATTERNS):
        line = pattern.masked(line)
    assert line == masked


@pytest.mark.parametrize(
    "line",
    [
        "eos_token: </s>",
        "bos_token = <|endoftext|>, pad token: [PAD]",
        '{"unk_token": "<unk>", "pad_token": "<pad>"}',
        "token: 50256",
        "next token=sentencepiece",
        hashlib.sha256(b"x").hexdigest(),
        "sha256:" + hashlib.sha256(b"x").hexdigest(),
        hashlib.sha512(b"x").hexdigest(),
        "ACGT" * 16,
        "ACGT" * 32,
        "MAQAKINGHTQ" * 8,
        "AQ" + "ACDEFGHIKLMNPQRSTVWY" * 3,
        "A" * 64,
        "a" * 64,
        "=" * 64,
        "0" * 64,
        "password: None",
        '"password": null,',
        "secret = True",
        "loss=0.25 tokens: 8192 tokens/s=1.2e4",
        "secretary: Ann Smith",
    ],
)
def test_what_users_print_and_is_no_secret_stays(line):
    report = line
    for pattern in (*PATTERNS, *LINE_PATTERNS):
        report = pattern.masked(report)
    assert report == line


def masked(line):
    for pattern in (*PATTERNS, *LINE_PATTERNS):
        pattern.masked(line)


@pytest.mark.parametrize(
    "piece", ["a_", "eyJ-", "://a:", "token=", "$1$", "password", "-----BEGIN PRIVATE KEY-----", "0aA"]
)
def test_no_line_makes_the_masks_slow(piece):
    short, long = ((piece * length)[:length] for length in (2**13, 2**16))
    # Eight times as long takes eight times as long; 64 times where the rest of it is read from each character on.
    assert growth(lambda: masked(short), lambda: masked(long), tries=3) < 20


@pytest.mark.parametrize("pattern", [*PATTERNS, *LINE_PATTERNS])
def test_both_ways_of_writing_an_expression_are_one(pattern):
    # Python has no \K: where there is one, what stands before it is kept, as Python's group 1.
    python, pcre = pattern.compiled().pattern, pattern.pcre()
    assert pcre.replace("\\K", "").replace("(?:", "(") == python.replace("(?:", "(")
    re.compile(pcre.replace("\\K", ""))
