"""Broken files beside the site file (ledger, vault, host keys, runs, reports): a sentence, never a traceback."""

import shutil

import pytest
from click.testing import CliRunner

from avadm.cli.main import cli
from avadm.errors import AvadmError
from tests.controls.corrupt_files import GARBAGE


@pytest.fixture
def done(avadm, tmp_path):
    """A site on which everything was done; its folder."""
    assert avadm("apply", "-q").exit_code == 0
    return tmp_path


READ = (GARBAGE["odd serial"],)
"""What is a ledger all the same."""


def output_of(result, *codes):
    """Assert that a verb ended in a sentence; return it."""
    if isinstance(result.exception, AvadmError):
        assert result.exception.exit_code in codes
        assert all(f.what and (f.where or f.remedy) for f in result.exception.findings)
        return " ".join(f"{f.what} {f.where} {f.found} {f.remedy}" for f in result.exception.findings)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in codes, result.output
    return result.output


def test_a_damaged_state_or_fingerprints_cost_nothing_but_work(avadm, done):
    shutil.rmtree(done / "nodes")  # nor is there a copy
    for name in ("ledger.json", "fingerprints.json"):
        path = done / ".avadm" / "t" / name
        kept = path.read_bytes()
        for garbage in GARBAGE.values():
            path.write_bytes(garbage)
            for verb in ("plan", "status"):
                reply = output_of(avadm(verb, "--offline"), 0, 2)
                assert name in reply or garbage in READ or name == "fingerprints.json"
            assert path.read_bytes() == garbage
        path.write_bytes(kept)


@pytest.mark.parametrize("name", ["site.vault.yml", "site.vault-pass"])
def test_a_damaged_vault_or_its_password_stops_apply_and_changes_nothing(avadm, done, playbooks, name):
    for garbage in GARBAGE.values():
        (done / name).write_bytes(garbage)
        assert name in output_of(avadm("apply", "--force", "-q"), 2)
        assert (done / name).read_bytes() == garbage
    assert playbooks.requests == []


@pytest.mark.parametrize("name", ["summary.json", "plan.json", "events.jsonl"])
def test_a_damaged_run_folder_is_still_listed_and_shown(avadm, done, name):
    folder = (done / "runs" / "latest").resolve()
    for garbage in GARBAGE.values():
        (folder / name).write_bytes(garbage)
        for verb in (["runs", "list"], ["runs", "list", "--json"], ["status", "--offline"]):
            assert folder.name in output_of(avadm(*verb), 0)
        assert folder.name in output_of(avadm("runs", "show"), 0, 2)


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_what_is_no_report_is_not_verified(tmp_path, garbage):
    folder = tmp_path / "report"
    folder.mkdir()
    for name in ("manifest.json", "report.json", "results.json"):
        (folder / name).write_bytes(garbage)
    for path in (folder, folder / "report.json"):
        output_of(CliRunner().invoke(cli, ["accept", "verify", str(path)], standalone_mode=True), 1, 2)


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_a_default_site_that_is_no_path(tmp_path, monkeypatch, garbage):
    monkeypatch.setenv("AVADM_HOME", str(tmp_path))
    monkeypatch.delenv("AVADM_SITE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".avadm").mkdir()
    (tmp_path / ".avadm" / "site").write_bytes(garbage)
    output_of(CliRunner().invoke(cli, ["site", "check"]), 2)


@pytest.mark.parametrize("variable", ["AVADM_RUNS", "AVADM_CACHE"])
def test_a_file_where_a_folder_is_wanted(avadm, done, monkeypatch, variable):
    (done / "file").write_text("x")
    monkeypatch.setenv(variable, str(done / "file"))
    for verb in (["apply", "--force", "-q"], ["runs", "list"], ["status"]):
        output_of(avadm(*verb), 0, 2)
