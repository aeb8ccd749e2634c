"""The glue of acceptance: what it can do without git, and which suites it runs."""

import subprocess
from types import SimpleNamespace

import pytest

from avadm.engine import acceptance
from avadm.errors import AvadmError


def test_without_git_the_commit_is_unknown(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert acceptance._commit() == ""


@pytest.mark.parametrize(
    ("suites", "checks", "ran"),
    [
        ("all", [], {"storage": [], "objects": [], "kubernetes": []}),
        ("objects", [], {"objects": []}),
        ("all", ["s3-3"], {"objects": ["A-S3-3"]}),
        ("cis", [], {"cis": []}),
        ("storage", [], {"storage": []}),
        ("all", ["cis-1.1"], {"cis": ["CIS-1.1"]}),
        ("cis", ["CIS-1.1", "CIS-2.2"], {"cis": ["CIS-1.1", "CIS-2.2"]}),
        (
            "all",
            ["CIS-1.1", "k-dns", "fs1"],
            {"storage": ["A-FS1"], "kubernetes": ["K-DNS"], "cis": ["CIS-1.1"]},
        ),
    ],
)
def test_controls_are_looked_at_only_where_they_are_asked_for(monkeypatch, suites, checks, ran):
    seen = {}

    def note(name):
        return lambda *args: seen.update({name: list(args[-1])}) or []

    monkeypatch.setattr(acceptance.kubernetes, "execute", note("kubernetes"))
    monkeypatch.setattr(acceptance.cis, "execute", note("cis"))
    monkeypatch.setattr(acceptance.objects, "execute", note("objects"))
    suite = SimpleNamespace(target=SimpleNamespace(kube=object(), objects=object()), execute=note("storage"))
    acceptance._execute(suite, acceptance.choose(checks, suites), suites, None)
    assert seen == ran


def test_controls_need_masters():
    suite = SimpleNamespace(target=SimpleNamespace(kube=None, objects=None))
    site = SimpleNamespace(where=lambda path: "site.yml")
    with pytest.raises(AvadmError, match="kubernetes and cis need"):
        acceptance._execute(suite, [], "cis", site)


def test_the_objects_suite_needs_an_object_store_where_it_is_asked_for():
    suite = SimpleNamespace(target=SimpleNamespace(kube=None, objects=None), execute=lambda only: [])
    site = SimpleNamespace(where=lambda path: "site.yml")
    with pytest.raises(AvadmError, match="needs an object store"):
        acceptance._execute(suite, ["A-S3-1"], "all", site)
    assert acceptance._execute(suite, [], "all", site) == []
