"""A vault that is gone is not made anew while what was made with it is there."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from avadm.cli import execute as verb
from avadm.cli.main import App, cli
from avadm.errors import AvadmError
from avadm.sitefile.secrets import Vault
from tests.unit.cli.nodes import Nodes
from tests.unit.cli.test_apply_verbs import SITE, Fake

Run = Callable[..., Result]


@pytest.fixture
def avadm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (tmp_path / "site.yml").write_text(SITE)
    nodes, runner = Nodes(tmp_path / "nodes"), Fake()
    monkeypatch.setattr(App, "idle_fleet", lambda self: nodes)
    monkeypatch.setattr(App, "fleet", App.idle_fleet)
    monkeypatch.setenv("AVADM_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    monkeypatch.setattr(verb, "make_runner", lambda redactor: runner)
    monkeypatch.setattr(verb, "versions_hook", lambda site_file, fleet: None)
    return lambda *argv, site=tmp_path / "site.yml": CliRunner().invoke(cli, ["--site", str(site), *argv])


def refused(result: Result) -> str:
    assert isinstance(result.exception, AvadmError), result.output
    return result.exception.findings[0].check


@pytest.mark.parametrize("left", ["ledger", "damaged ledger", "ledger without marks", "pki"])
def test_a_lost_vault_is_refused_and_comes_back(avadm: Run, tmp_path: Path, left: str) -> None:
    assert avadm("apply", "ceph").exit_code == 0
    vault, ledger = tmp_path / "site.vault.yml", tmp_path / ".avadm/t/ledger.json"
    kept = vault.read_bytes()
    vault.unlink()
    if left == "pki":
        (tmp_path / "site.pki.json").write_text(
            json.dumps({"authorities": {}, "certificates": {}, "service_accounts": ""})
        )
        ledger.unlink()
    elif left != "ledger":
        said = {k: v for k, v in json.loads(ledger.read_text()).items() if k != "founded"}
        ledger.write_text("{" if "damaged" in left else json.dumps(said))
    for argv in (("site", "render", "--out", str(tmp_path / "i")), ("apply", "ceph"), ("plan", "--offline")):
        if "damaged" not in left:  # that ledger is an error of its own
            assert refused(avadm(*argv)) == "vault-lost"
    checked = avadm("site", "check", "--json")
    assert '"ok": false' in checked.output
    assert "vault-lost" in checked.output
    assert not vault.exists()
    vault.write_bytes(kept)
    assert '"ok": true' in avadm("site", "check", "--json").output
    if "damaged" not in left:
        assert avadm("apply", "ceph").exit_code == 0


def test_a_new_controller_without_the_vault_is_stopped_by_what_the_nodes_keep(
    avadm: Run, tmp_path: Path
) -> None:
    assert avadm("apply", "ceph").exit_code == 0
    other = tmp_path / "other"
    other.mkdir()
    for name in ("site.yml", "avadm_key", "known_hosts"):
        if (tmp_path / name).exists():
            shutil.copy(tmp_path / name, other / name)
    site = other / "site.yml"
    assert refused(avadm("plan", site=site)) == "vault-lost"
    assert not (other / "site.vault.yml").exists()
    # Where the ledger has come along, another vault is no way round.
    shutil.copytree(tmp_path / ".avadm", other / ".avadm")
    assert refused(avadm("site", "render", "--out", str(other / "i"), site=site)) == "vault-lost"
    Vault.open(site).ensure({"vault_ceph_fsid": lambda: "another"})
    assert refused(avadm("apply", "ceph", site=site)) == "vault-other"


@pytest.mark.parametrize("held", [{"vault_ceph_fsid": "another"}, {"vault_x": "nothing of the site"}])
def test_nothing_is_made_with_another_vault(avadm: Run, tmp_path: Path, held: dict[str, str]) -> None:
    assert avadm("apply", "ceph").exit_code == 0
    vault = tmp_path / "site.vault.yml"
    vault.unlink()
    Vault.open(tmp_path / "site.yml").ensure(
        {name: lambda value=value: value for name, value in held.items()}
    )
    kept = {path: path.read_bytes() for path in tmp_path.glob("site.*")}
    for argv in (("apply", "ceph"), ("site", "render", "--out", str(tmp_path / "i"))):
        assert refused(avadm(*argv)) == "vault-other"
    assert {path: path.read_bytes() for path in tmp_path.glob("site.*")} == kept


def test_a_site_that_never_had_a_vault_gets_one(avadm: Run, tmp_path: Path) -> None:
    folder = tmp_path / ".avadm/t"
    folder.mkdir(parents=True)
    said = {"version": 1, "site": "t", "serial": 3, "phases": {"base": {}}}
    (folder / "ledger.json").write_text(json.dumps(said))
    assert avadm("apply", "base").exit_code == 0
    assert (tmp_path / "site.vault.yml").exists()
