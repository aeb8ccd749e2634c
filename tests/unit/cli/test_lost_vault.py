"""A vault that is gone is not recreated while what was made with it is there."""

import json
import shutil

import pytest

from avadm.site.vault import Vault
from tests.unit.fakes.cli import refusal


def refused(result):
    return refusal(result).check


@pytest.mark.parametrize("left", ["ledger", "damaged ledger", "ledger without marks", "pki"])
def test_a_lost_vault_is_refused_and_comes_back(avadm, tmp_path, left):
    assert avadm("apply", "ceph").exit_code == 0
    vault, state_file = tmp_path / "site.vault.yml", tmp_path / ".avadm/t/ledger.json"
    kept = vault.read_bytes()
    vault.unlink()
    if left == "pki":
        empty = {"authorities": {}, "certificates": {}, "service_accounts": ""}
        (tmp_path / "site.pki.json").write_text(json.dumps(empty))
        state_file.unlink()
    elif left != "ledger":
        report = {k: v for k, v in json.loads(state_file.read_text()).items() if k != "founded"}
        state_file.write_text("{" if "damaged" in left else json.dumps(report))
    for argv in (("site", "render", "--out", str(tmp_path / "i")), ("apply", "ceph"), ("plan", "--offline")):
        if "damaged" not in left:  # that ledger is an error of its own
            assert refused(avadm(*argv)) == "vault-lost"
    checked = avadm("site", "check", "--json").output
    assert '"ok": false' in checked and "vault-lost" in checked
    assert not vault.exists()
    vault.write_bytes(kept)
    assert '"ok": true' in avadm("site", "check", "--json").output
    if "damaged" not in left:
        assert avadm("apply", "ceph").exit_code == 0


def test_a_new_controller_without_the_vault_is_stopped_by_what_the_nodes_keep(avadm, tmp_path):
    assert avadm("apply", "ceph").exit_code == 0
    other = tmp_path / "other"
    other.mkdir()
    site = other / "site.yml"
    shutil.copy(tmp_path / "site.yml", site)
    assert refused(avadm("plan", site=site)) == "vault-lost"
    assert not (other / "site.vault.yml").exists()
    # Where the state has come along, another vault is no way round.
    shutil.copytree(tmp_path / ".avadm", other / ".avadm")
    assert refused(avadm("site", "render", "--out", str(other / "i"), site=site)) == "vault-lost"
    Vault.open(site).ensure({"vault_ceph_fsid": lambda: "another"})
    assert refused(avadm("apply", "ceph", site=site)) == "vault-other"


@pytest.mark.parametrize("held", [{"vault_ceph_fsid": "another"}, {"vault_x": "nothing of the site"}])
def test_nothing_is_made_with_another_vault(avadm, tmp_path, held):
    assert avadm("apply", "ceph").exit_code == 0
    vault = tmp_path / "site.vault.yml"
    vault.unlink()
    Vault.open(tmp_path / "site.yml").ensure({k: lambda value=v: value for k, v in held.items()})
    kept = {path: path.read_bytes() for path in tmp_path.glob("site.*")}
    for argv in (("apply", "ceph"), ("site", "render", "--out", str(tmp_path / "i"))):
        assert refused(avadm(*argv)) == "vault-other"
    assert {path: path.read_bytes() for path in tmp_path.glob("site.*")} == kept


def test_a_site_that_never_had_a_vault_gets_one(avadm, tmp_path):
    folder = tmp_path / ".avadm/t"
    folder.mkdir(parents=True)
    report = {"version": 1, "site": "t", "serial": 3, "phases": {"base": {}}}
    (folder / "ledger.json").write_text(json.dumps(report))
    assert avadm("apply", "base").exit_code == 0
    assert (tmp_path / "site.vault.yml").exists()
