"""The glue of acceptance: what it can do without git, and which suites it runs."""

import subprocess
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from avadm.errors import AvadmError
from avadm.site import profile
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm_acceptance import measurement, selection
from avadm_acceptance.target import target_of
from avadm_validation import registry
from avadm_validation.measuring.schedule import Session

BARE = SimpleNamespace(
    target=SimpleNamespace(storage=None, kube=None, objects=None, cache=None, logs=None, platform=None)
)
"""A run at a site that has nothing of what the suites measure."""


def site_with(roles):
    """Return a site file with one node that has these roles."""
    node = {"name": "n", "address": "10.0.0.1", "roles": roles}
    data = {"name": "t", "network": {"management": "10.0.0.0/24", "domain": "example"}, "nodes": [node]}
    return SiteFile(Path("site.yml"), Site.model_validate(data), profile.load("lab-bookworm"))


def test_without_git_the_commit_is_unknown(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert measurement.commit() == ""


@pytest.mark.parametrize(
    ("suites", "checks", "ran"),
    [
        (
            "all",
            [],
            {"storage": [], "objects": [], "alluxio": [], "kubernetes": [], "platform": [], "logs": []},
        ),
        ("objects", [], {"objects": []}),
        ("logs", [], {"logs": []}),
        ("all", ["s3-3"], {"objects": ["A-S3-3"]}),
        ("cis", [], {"cis": []}),
        ("storage", [], {"storage": []}),
        ("all", ["cis-1.1"], {"cis": ["CIS-1.1"]}),
        ("cis", ["CIS-1.1", "CIS-2.2"], {"cis": ["CIS-1.1", "CIS-2.2"]}),
        (
            "all",
            ["CIS-1.1", "k-dns", "fs1", "sc2", "ot1"],
            {
                "storage": ["A-FS1"],
                "kubernetes": ["K-DNS"],
                "platform": ["A-SC2", "A-OT1"],
                "cis": ["CIS-1.1"],
            },
        ),
    ],
)
def test_controls_are_looked_at_only_where_they_are_asked_for(monkeypatch, suites, checks, ran):
    seen = {}

    def note(name):
        return lambda runner, only: seen.update({name: list(only)}) or nullcontext(Session(None, ()))

    found = {name: replace(suite, open=note(name)) for name, suite in registry.suites().items()}
    monkeypatch.setattr(registry, "suites", lambda: found)
    target = SimpleNamespace(storage=object(), kube=object(), objects=object(), cache=object(), logs=object())
    target.platform = object()
    selection.execute(
        SimpleNamespace(target=target, remove_tools=lambda: None),
        selection.choose(checks, suites),
        suites,
        None,
    )
    assert seen == ran


@pytest.mark.parametrize(
    ("suites", "only", "message"),
    [
        ("cis", [], "The suite cis needs a node with the role master"),
        ("kubernetes", [], "The suite kubernetes needs a node with the role master"),
        ("all", ["A-S3-1"], "needs an object store"),
        ("logs", [], "needs a site that keeps logs"),
        ("all", ["A-AL-HIT"], "needs a cache that clients mount"),
        ("platform", [], "The suite platform needs the platform"),
        ("storage", [], "the roles mon and client"),
        ("all", ["A-FS1"], "the roles mon and client"),
        # Nothing at all is there: that is no good end of a run of everything.
        ("all", [], "the roles mon and client"),
    ],
)
def test_what_is_asked_for_by_name_has_to_be_there(suites, only, message):
    site = SimpleNamespace(where=lambda path: "site.yml")
    with pytest.raises(AvadmError, match=message):
        selection.execute(BARE, only, suites, site)


def test_without_a_name_what_the_site_has_not_is_left_out(monkeypatch):
    suites = registry.suites()
    found = Session(None, (), results=["K-DNS"])
    answers = replace(suites["kubernetes"], open=lambda runner, only: nullcontext(found))
    monkeypatch.setattr(registry, "suites", lambda: {**suites, "kubernetes": answers})
    target = SimpleNamespace(**{**vars(BARE.target), "kube": object()})
    runner = SimpleNamespace(target=target, remove_tools=lambda: None)
    assert selection.execute(runner, [], "all", None) == ["K-DNS"]


@pytest.mark.parametrize(("roles", "there"), [(["mon", "client"], "n"), (["mon"], None), (["master"], None)])
def test_a_site_without_clients_of_ceph_has_no_storage_to_measure(roles, there):
    assert target_of(site_with(roles)).storage == there


def test_a_report_is_named_by_the_suites_of_its_checks():
    checks = [
        SimpleNamespace(id=i) for i in ("A-FS1", "A-S3-PRE", "A-S3-1", "A-AL-HIT", "K-DNS", "A-LOG-LOSS")
    ]
    assert registry.names_of(checks) == "storage, objects, alluxio, kubernetes and logs"
