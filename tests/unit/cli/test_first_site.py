"""A new site, as the README has it: from `site init` to a plan, with nodes whose disks are made up."""

import json
import re
from pathlib import Path

import pytest

from avadm.bootstrap import run as bootstraps
from avadm.bootstrap.report import BootstrapState, NodeReport
from avadm.checks.evidence import PreflightContext
from tests.unit.disks.disk_fakes import Node

INIT = ("site", "init", "--addresses", "10.0.0.11-22", "--name", "room1", "--domain", "room1.test")
STORES = ["node01", "node02", "node03"]


@pytest.fixture
def avadm(called, tmp_path, monkeypatch):
    """The command line in an empty folder."""
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AVADM_SITE", raising=False)
    monkeypatch.chdir(tmp_path)
    return called


@pytest.fixture
def draft(avadm):
    """The command line where a site file was just written."""
    code, out, _ = avadm(*INIT)
    assert code == 0, out
    return avadm


def ready(target):
    """Return what bootstrap reports of a node that it made ready."""
    report = NodeReport(target.node)
    for step in ("host_key", "key", "root", "python"):
        report.add(step, BootstrapState.CHANGED, "")
    return report


@pytest.fixture
def room(draft, monkeypatch, tmp_path):
    """The command line where nodes answer too, each with one blank disk."""
    monkeypatch.setattr(bootstraps, "bootstrap", lambda job: [ready(t) for t in job.targets])
    monkeypatch.setattr("avadm.cli.disk._fleet", lambda site_file: Node(tmp_path / "locks"))

    def collect(site, profile, nodes, *_):
        proofs = {n.name: {"devices": [], "proof": []} for n in nodes}
        return PreflightContext(site, profile, nodes, proofs)

    monkeypatch.setattr("avadm.checks.collect.collect", collect)
    return draft


def test_the_first_file_says_what_comes_next(avadm):
    code, out, err = avadm(*INIT)
    assert (code, err) == (0, "")
    steps = [out.index(step) for step in ("avadm bootstrap", "avadm disk list", "avadm disk approve")]
    assert steps == sorted(steps)


def test_a_draft_is_good_to_check_and_show(draft):
    code, out, err = draft("site", "check")
    assert code == 0, err
    assert "good as a draft" in out
    assert "avadm disk approve node01" in err
    code, out, _ = draft("site", "check", "--json")
    data = json.loads(out)
    assert (code, data["ok"], data["draft"]) == (0, True, True)
    assert [f["severity"] for f in data["findings"]].count("error") == 0
    assert draft("site", "show")[0] == 0


def test_the_state_of_a_draft_names_the_next_step(draft):
    code, out, err = draft("status", "--offline")
    assert code == 0, err
    assert "avadm disk approve" in out
    assert "node01" in out.splitlines()[-1]


@pytest.mark.parametrize("verb", ["plan", "plan --offline", "apply", "doctor", "accept run"])
def test_a_draft_is_not_installed(draft, verb):
    code, out, err = draft(*verb.split())
    assert code == 2
    assert "avadm disk approve node01 DISK" in out + err


def test_a_draft_with_another_error_is_refused_by_all(draft, tmp_path):
    site = tmp_path / "site.yml"
    site.write_text(site.read_text().replace("failure_domain: host", "failure_domain: room"))
    for verb in ("bootstrap", "preflight", "disk list", "site check", "site show", "status"):
        code, out, err = draft(*verb.split())
        assert code == 2, verb
        assert "failure_domain" in out + err


def test_from_the_first_file_to_a_plan(room, tmp_path):
    code, out, err = room("bootstrap", "--accept-host-keys")
    assert code == 0, err
    assert (tmp_path / "id_ed25519").is_file()
    code, out, err = room("preflight", "--only", "disks")
    assert code == 0, out + err
    assert "! 3 nodes: disks no devices" in out
    code, out, err = room("disk", "list", "--limit", "osd")
    assert code == 0, err
    assert out.count("SER-sdb") == 3
    for left, node in enumerate(STORES, 1):
        code, out, err = room("disk", "approve", node, "SER-sdb")
        assert code == 0, err
        code, out, _ = room("site", "check", "--json")
        assert (code, json.loads(out)["draft"]) == (0, left < len(STORES))
    assert "(12 nodes" in room("site", "check")[1]
    code, out, err = room("plan", "--offline")
    assert code == 0, err
    assert "ceph" in out


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/site.md"])
def test_the_docs_have_the_order_that_works(page):
    text = (Path(__file__).parents[3] / page).read_text()
    text = text[text.index("site init --addresses") :]
    steps = (
        "site check",
        "bootstrap",
        "disk approve",
        "artifacts build",
        "plan --deep --out",
        "apply --plan",
    )
    places = [re.search(rf"^avadm {step}", text, re.MULTILINE).start() for step in steps]
    order = places if page == "README.md" else [p for p in places if p != places[3]]
    assert order == sorted(order)
    assert places[3] < places[4]
