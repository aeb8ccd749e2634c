"""The vault: made once, never readable by others, opened by ansible-vault itself."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from avadm.errors import AvadmError
from avadm.private import write_private
from avadm.runner.redact import Redactor
from avadm.sitefile.secrets import PASSWORD_ENV, Vault


@pytest.fixture
def site_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(PASSWORD_ENV, raising=False)
    return tmp_path / "lab.yml"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_made_once(site_path: Path) -> None:
    assert Vault.open(site_path).ensure({"vault_a": lambda: "first"}) == {"vault_a": "first"}
    before = (site_path.parent / "lab.vault.yml").read_bytes()
    again = Vault.open(site_path).ensure({"vault_a": lambda: "second"})
    assert again == {"vault_a": "first"}
    assert (site_path.parent / "lab.vault.yml").read_bytes() == before, "nothing new, nothing written"
    more = Vault.open(site_path).ensure({"vault_a": lambda: "second", "vault_b": lambda: "new"})
    assert more == {"vault_a": "first", "vault_b": "new"}


def test_what_a_user_nested_survives_and_is_masked(site_path: Path) -> None:
    vault = Vault.open(site_path)
    vault.ensure({"vault_a": lambda: "x"})
    nested = {"user": {"password": "hidden-one", "keys": ["hidden-two", 12345678]}, "on": True}
    vault._write({**vault._read(), "vault_own": nested})
    vault.ensure({"vault_b": lambda: "y"})
    assert vault._read() == {"vault_a": "x", "vault_own": nested, "vault_b": "y"}
    shown = Redactor(vault.values()).text("hidden-one, hidden-two, 12345678, other")
    assert shown == "***, ***, ***, other"


def test_modes_and_encryption(site_path: Path) -> None:
    vault = Vault.open(site_path)
    vault.ensure({"vault_a": lambda: "s3cret-value"})
    assert [mode(vault.path), mode(vault.password_file)] == [0o600, 0o600]
    assert vault.path.read_bytes().startswith(b"$ANSIBLE_VAULT;1.1;AES256")
    assert b"s3cret" not in vault.path.read_bytes()
    assert vault.values() == ["s3cret-value"]
    assert sorted(p.name for p in site_path.parent.iterdir()) == ["lab.vault-pass", "lab.vault.yml"]


def test_never_readable_while_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr("os.fsync", lambda fd: seen.extend(mode(p) for p in tmp_path.iterdir()))
    write_private(tmp_path / "x", b"secret")
    assert seen == [0o600]


def test_ansible_vault_opens_it(site_path: Path) -> None:
    vault = Vault.open(site_path)
    vault.ensure({"vault_a": lambda: "value: with # yaml"})
    command = [
        Path(sys.executable).parent / "ansible-vault",
        "view",
        "--vault-password-file",
        vault.password_file,
    ]
    shown = subprocess.run([*map(str, command), str(vault.path)], capture_output=True, text=True, check=True)
    assert "vault_a: 'value: with # yaml'" in shown.stdout


def test_nothing_secret_makes_no_files(site_path: Path) -> None:
    vault = Vault.open(site_path)
    assert vault.ensure({}) == {}
    assert vault.ansible_args() == []
    assert list(site_path.parent.iterdir()) == []


def test_two_runs_at_once_agree(site_path: Path) -> None:
    results: list[dict[str, str]] = []

    def run(i: int) -> None:
        results.append(Vault.open(site_path).ensure({"vault_a": lambda: f"from {i}"}))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({r["vault_a"] for r in results}) == 1


def test_wrong_password(site_path: Path) -> None:
    vault = Vault.open(site_path)
    vault.ensure({"vault_a": lambda: "x"})
    vault.password_file.write_text("wrong\n")
    with pytest.raises(AvadmError) as raised:
        vault.values()
    assert raised.value.findings[0].check == "vault-locked"


def test_lost_password_is_not_replaced(site_path: Path) -> None:
    vault = Vault.open(site_path)
    vault.ensure({"vault_a": lambda: "x"})
    vault.password_file.unlink()
    with pytest.raises(AvadmError) as raised:
        vault.ensure({"vault_b": lambda: "y"})
    assert raised.value.findings[0].check == "vault-password-missing"
    assert not vault.password_file.exists()


def test_open_password_is_refused(site_path: Path) -> None:
    vault = Vault.open(site_path)
    vault.ensure({"vault_a": lambda: "x"})
    vault.password_file.chmod(0o644)
    with pytest.raises(AvadmError) as raised:
        vault.values()
    assert raised.value.findings[0].check == "vault-password-open"


def test_named_password_file(site_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_names_have_the_prefix(site_path: Path) -> None:
    with pytest.raises(ValueError, match="vault_"):
        Vault.open(site_path).ensure({"grafana_password": lambda: "x"})
