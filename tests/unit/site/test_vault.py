"""The vault: made once, never readable by others, opened by ansible-vault itself."""

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible.parsing.vault import VaultLib

from avadm.errors import AvadmError
from avadm.private_files import write_private
from avadm.remote.redact import Redactor
from avadm.site.vault import PASSWORD_ENV, Vault


@pytest.fixture
def site_path(tmp_path, monkeypatch):
    monkeypatch.delenv(PASSWORD_ENV, raising=False)
    return tmp_path / "lab.yml"


@pytest.fixture
def vault(site_path):
    """A vault that holds a secret."""
    made = Vault.open(site_path)
    made.ensure({"vault_a": lambda: "x: with # yaml"})
    return made


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_made_once(site_path, vault):
    before = vault.path.read_bytes()
    again = Vault.open(site_path).ensure({"vault_a": lambda: "second"})
    assert again == {"vault_a": "x: with # yaml"}
    assert vault.path.read_bytes() == before, "nothing new, nothing written"
    more = Vault.open(site_path).ensure({"vault_a": lambda: "second", "vault_b": lambda: "new"})
    assert more == {**again, "vault_b": "new"}


def test_what_a_user_nested_survives_and_is_masked(vault):
    nested = {"user": {"password": "hidden-one", "keys": ["hidden-two", 12345678]}, "on": True}
    vault._write({"vault_a": "x", "vault_own": nested})
    vault.ensure({"vault_b": lambda: "y"})
    assert vault._read() == {"vault_a": "x", "vault_own": nested, "vault_b": "y"}
    shown = Redactor(vault.values()).text("hidden-one, hidden-two, 12345678, other")
    assert shown == "***, ***, ***, other"


def test_modes_and_encryption(site_path, vault):
    assert [mode(vault.path), mode(vault.password_file)] == [0o600, 0o600]
    assert vault.path.read_bytes().startswith(b"$ANSIBLE_VAULT;1.1;AES256")
    assert b"yaml" not in vault.path.read_bytes()
    assert vault.values() == ["x: with # yaml"]
    assert sorted(p.name for p in site_path.parent.iterdir()) == ["lab.vault-pass", "lab.vault.yml"]


def test_never_readable_while_being_written(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("os.fsync", lambda fd: seen.extend(mode(p) for p in tmp_path.iterdir()))
    write_private(tmp_path / "x", b"secret")
    assert seen == [0o600]


def test_ansible_vault_opens_it(vault):
    view = [Path(sys.executable).parent / "ansible-vault", "view", "--vault-password-file"]
    command = [*view, vault.password_file, vault.path]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "vault_a: 'x: with # yaml'" in shown.stdout


def test_nothing_secret_makes_no_files(site_path):
    vault = Vault.open(site_path)
    assert vault.ensure({}) == {}
    assert vault.ansible_args() == []
    assert list(site_path.parent.iterdir()) == []


def test_two_runs_at_once_agree(site_path):
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(lambda i: Vault.open(site_path).ensure({"vault_a": lambda: f"from {i}"}), range(4))
    assert len({secrets["vault_a"] for secrets in made}) == 1


@pytest.mark.parametrize(
    ("spoil", "check"),
    [
        (lambda path: path.write_text("wrong\n"), "vault-locked"),
        (lambda path: path.chmod(0o644), "vault-password-open"),
    ],
)
def test_a_wrong_or_an_open_password_is_refused(vault, spoil, check):
    spoil(vault.password_file)
    with pytest.raises(AvadmError) as raised:
        vault.values()
    assert raised.value.findings[0].check == check


def test_lost_password_is_not_replaced(vault):
    vault.password_file.unlink()
    with pytest.raises(AvadmError) as raised:
        vault.ensure({"vault_b": lambda: "y"})
    assert raised.value.findings[0].check == "vault-password-missing"
    assert not vault.password_file.exists()


def test_named_password_file(site_path, tmp_path, monkeypatch):
    script = tmp_path / "password"
    script.write_text("#!/bin/sh\necho from-a-script\n")
    script.chmod(0o700)
    monkeypatch.setenv(PASSWORD_ENV, str(script))
    vault = Vault.open(site_path)
    vault.ensure({"vault_a": lambda: "x"})
    assert vault.ansible_args()[-1] == str(script)
    assert Vault.open(site_path).values() == ["x"]
    monkeypatch.setenv(PASSWORD_ENV, str(tmp_path / "nowhere"))
    with pytest.raises(AvadmError):
        Vault.open(site_path).values()


def test_names_have_the_prefix(site_path):
    with pytest.raises(ValueError, match="vault_"):
        Vault.open(site_path).ensure({"grafana_password": lambda: "x"})


def test_it_is_decrypted_once_until_its_file_changes(site_path, vault, monkeypatch):
    calls = []
    decrypt = VaultLib.decrypt
    monkeypatch.setattr(VaultLib, "decrypt", lambda *args: calls.append(1) or decrypt(*args))
    mine = Vault.open(site_path)
    assert [mine.read(), mine.values(), mine.ensure({"vault_a": lambda: "y"})][1] == ["x: with # yaml"]
    assert len(calls) == 1
    vault.ensure({"vault_b": lambda: "new"})
    calls.clear()
    assert mine.read() == {"vault_a": "x: with # yaml", "vault_b": "new"}
    assert len(calls) == 1


def test_nothing_is_kept_where_an_error_ends_it(vault):
    before = vault.path.read_bytes()
    with pytest.raises(KeyError), vault.extended() as secrets:
        secrets["vault_b"] = "new"
        raise KeyError("b")
    assert vault.path.read_bytes() == before


def test_secrets_that_nothing_uses_any_more_are_removed(vault):
    vault.ensure({"vault_b": lambda: "b"})
    before = vault.path.read_bytes()
    vault.forget(["vault_c"])
    assert vault.path.read_bytes() == before, "nothing gone, nothing written"
    vault.forget(["vault_a", "vault_c"])
    assert vault.read() == {"vault_b": "b"}
    assert mode(vault.path) == 0o600
