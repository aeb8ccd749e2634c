"""The glue of acceptance: what it can do without git, and which suites it runs."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from avadm.engine import acceptance
from avadm.errors import AvadmError
from avadm.site import profile
from avadm.site.load import SiteFile
from avadm.site.model import Site


def test_without_git_the_commit_is_unknown(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert acceptance._commit() == ""


@pytest.mark.parametrize(
    ("suites", "checks", "ran"),
    [
        ("all", [], {"storage": [], "kubernetes": []}),
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
    suite = SimpleNamespace(target=SimpleNamespace(storage="n", kube=object()), execute=note("storage"))
    acceptance._execute(suite, acceptance.choose(checks, suites), suites, None)
    assert seen == ran


@pytest.mark.parametrize(
    ("suites", "only", "storage", "kube", "said"),
    [
        ("cis", [], "n", None, "kubernetes and cis need nodes with the role master"),
        ("storage", [], None, object(), "the roles? mon and client"),
        ("all", ["A-FS1"], None, object(), "the roles? mon and client"),
        # Nothing at all is there: that is no good end of a run of everything.
        ("all", [], None, None, "the roles? mon and client"),
    ],
)
def test_what_is_asked_for_by_name_has_to_be_there(suites, only, storage, kube, said):
    suite = SimpleNamespace(target=SimpleNamespace(storage=storage, kube=kube))
    site = SimpleNamespace(where=lambda path: "site.yml")
    with pytest.raises(AvadmError, match=said):
        acceptance._execute(suite, only, suites, site)


def test_without_a_name_what_the_site_has_not_is_left_out(monkeypatch):
    monkeypatch.setattr(acceptance.kubernetes, "execute", lambda suite, only: ["K-DNS"])
    suite = SimpleNamespace(target=SimpleNamespace(storage=None, kube=object()))
    assert acceptance._execute(suite, [], "all", None) == ["K-DNS"]


@pytest.mark.parametrize(("roles", "there"), [(["mon", "client"], "n"), (["mon"], None), (["master"], None)])
def test_a_site_without_clients_of_ceph_has_no_storage_to_measure(roles, there):
    node = {"name": "n", "address": "10.0.0.1", "roles": roles}
    data = {"name": "t", "network": {"management": "10.0.0.0/24", "domain": "example"}, "nodes": [node]}
    file = SiteFile(Path("site.yml"), Site.model_validate(data), profile.load("lab-bookworm"))
    assert acceptance.target_of(file).storage == there
