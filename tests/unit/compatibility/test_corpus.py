"""Files of former versions of avadm are read by this one: site files, vaults, records, run folders (from make_corpus.py)."""

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from avadm.cli.runs import overview
from avadm.cli.summary_text import print_summary
from avadm.engine.summary import of_run
from avadm.findings import Severity
from avadm.site.load import examine
from avadm.site.vault import Vault
from avadm.state.run_folder import list_runs
from avadm.state.site_state import PhaseState, SiteState

CORPUS = Path(__file__).parent / "corpus"
VERSIONS = sorted(path.name for path in CORPUS.iterdir())
SITE_FILES = sorted(str(p.relative_to(CORPUS)) for p in CORPUS.glob("*/*.yml") if ".vault" not in p.name)
SECRETS = {"vault_logs_password": "0123", "vault_key_ca": "-----BEGIN\nÄ: 1\n-----END\n"}
CLASH = "2026-11-25"
"""Until then Alertmanager might be on a master, where Calico's controllers have its port: UPGRADING.md names it."""
MARKS, OPERATIONS = "2026-11-23", "2026-11-28"
"""From when on the records keep what was bootstrapped, and operations."""


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture
def folder(version, tmp_path, monkeypatch):
    """Return a copy, as the controller has the files."""
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    shutil.copytree(CORPUS / version, tmp_path / "site")
    (tmp_path / "site" / "records").rename(tmp_path / "site" / ".avadm")
    password = tmp_path / "site" / "small.vault-pass"
    password.write_text("corpus\n")
    password.chmod(0o600)
    (tmp_path / "site" / "small.vault.yml").chmod(0o600)
    return tmp_path / "site"


def test_there_is_a_version_of_each_format():
    assert len(VERSIONS) >= 7
    assert min(VERSIONS) < MARKS < OPERATIONS <= max(VERSIONS)


@pytest.mark.parametrize("name", SITE_FILES)
def test_site_files_are_read(name):
    site_file, findings = examine(CORPUS / name)
    found = {f.check for f in findings if f.severity is Severity.ERROR}
    assert found == ({"port-clash"} if name.endswith("/small.yml") and name < CLASH else set())
    assert found or site_file.site.nodes


def test_vaults_are_opened_and_secrets_added_keep_the_former_ones(folder):
    vault = Vault.open(folder / "small.yml")
    assert vault.read() == SECRETS
    assert vault.ensure({"vault_new": lambda: "x"}) == SECRETS | {"vault_new": "x"}
    assert Vault.open(folder / "small.yml").read() == SECRETS | {"vault_new": "x"}


def test_records_are_read_and_written_again_without_loss(folder, version):
    state = SiteState.of(folder / "small.yml", "small")
    assert {h: state.entry("base", h).state for h in ("storage1", "storage2", "storage3", "x")} == {
        "storage1": PhaseState.DONE,
        "storage2": PhaseState.FAILED,
        "storage3": PhaseState.RUNNING,
        "x": PhaseState.PENDING,
    }
    assert state.entry("base", "storage1").digest == "d1"
    assert state.bootstrapped("etcd") == ({"service1": "cluster-1"} if version >= MARKS else {})
    begun = [one.command for one in state.begun()]
    assert begun == (["avadm upgrade etcd --to debian-12-newer"] if version >= OPERATIONS else [])
    assert [(s.kind, s.target, s.before) for s in state.settings()] == (
        [("cordon", "compute1", True)] if version >= OPERATIONS else []
    )
    path = folder / ".avadm" / "small" / "ledger.json"
    before, serial = json.loads(path.read_text()), state.serial
    state.settle()
    again = SiteState.of(folder / "small.yml", "small")
    assert again.serial > serial
    assert again.entry("base", "storage3").state is not PhaseState.RUNNING, "settled"
    after = json.loads(path.read_text())
    assert set(before) <= set(after)
    assert {"storage1", "storage2", "storage3"} == set(after["phases"]["base"])


def test_run_folders_are_listed_and_shown(folder):
    [run] = list_runs(folder / "runs")
    row = overview(run)
    assert (row["site"], row["verb"], row["result"], row["phases"]) == ("small", "apply", "failed", ["base"])
    events = list(run.events())
    assert [str(e.kind) for e in events] == ["phase_start", "changed", "failed", "phase_end"]
    assert events[2].message == "no route: Ä" and events[2].remedy == "wait"
    report = of_run(run)
    assert report["result"] == "failed"
    [failure] = report["failures"]
    assert (failure["host"], failure["message"]) == ("storage2", "no route: Ä")
    text = Console(file=io.StringIO(), width=200)
    print_summary(report, text)
    assert "no route: Ä" in text.file.getvalue()


def test_a_run_folder_whose_summary_is_gone_is_shown_by_its_events(folder):
    [run] = list_runs(folder / "runs")
    (run.path / "summary.json").unlink()
    assert of_run(run)["failures"][0]["host"] == "storage2"
    assert overview(run)["result"] == "unfinished"
