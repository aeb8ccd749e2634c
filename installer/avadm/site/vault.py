"""The site's secrets: made once, kept encrypted beside the site file, read by Ansible itself (design 8)."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from avadm.errors import AvadmError
from avadm.private_files import write_private
from avadm.secret_patterns import texts
from avadm.site.source import LOADER

PASSWORD_ENV = "AVADM_VAULT_PASSWORD_FILE"  # noqa: S105  a variable's name, no password
PREFIX = "vault_"


def add_missing(secrets: dict[str, str], makers: Mapping[str, Callable[[], str]]) -> None:
    """Make the secrets that are missing; those that are there are never changed.

    Args:
        secrets: secrets by name; gets the missing ones.
        makers: variable name (with the prefix ``vault_``) to a function that makes its value.
    """
    if wrong := [name for name in makers if not name.startswith(PREFIX)]:
        raise ValueError(f"secrets without the prefix {PREFIX}: {', '.join(wrong)}")
    secrets |= {name: makers[name]() for name in sorted(makers) if name not in secrets}


class Vault:
    """The vault file of one site; opened once by a command and handed down.

    Attributes:
        path: the encrypted file, `SITE.vault.yml` beside the site file; it need not exist yet.
        password_file: `SITE.vault-pass`, or the file named by AVADM_VAULT_PASSWORD_FILE.
    """

    def __init__(self, path: Path, password_file: Path, *, own_password: bool) -> None:
        self.path = path
        self.password_file = password_file
        self._own_password = own_password
        self._opened: tuple[tuple[int, int, int], dict[str, Any]] | None = None
        """Which version of the file was decrypted last, and what it holds."""

    @classmethod
    def open(cls, site_path: Path) -> Vault:
        """Return the vault of a site file; nothing is written or read yet."""
        site_path = site_path.absolute()
        named = os.environ.get(PASSWORD_ENV)
        password = Path(named).expanduser().absolute() if named else site_path.with_suffix(".vault-pass")
        return cls(site_path.with_suffix(".vault.yml"), password, own_password=not named)

    def read(self) -> dict[str, str]:
        """Return all secrets by name; none where there is no vault yet.

        Raises:
            AvadmError: the vault cannot be read or opened.
        """
        return {name: str(value) for name, value in self._read().items()}

    @contextmanager
    def extended(self) -> Iterator[dict[str, str]]:
        """Yield all secrets by name, to which missing ones may be added; added ones are kept at the end.

        Nothing is kept where an error ends it, and what the vault holds already is never changed.

        Raises:
            AvadmError: the vault cannot be read, opened or written.
        """
        with self._locked():
            held = self._read()
            secrets = {name: str(value) for name, value in held.items()}
            yield secrets
            if added := {name: value for name, value in secrets.items() if name not in held}:
                self._write(held | added)

    def forget(self, names: Collection[str]) -> None:
        """Remove secrets that nothing uses any more; those that are not there are passed over.

        Raises:
            AvadmError: the vault cannot be read, opened or written.
        """
        with self._locked():
            held = self._read()
            left = {name: value for name, value in held.items() if name not in names}
            if len(left) < len(held):
                self._write(left)

    def ensure(self, makers: Mapping[str, Callable[[], str]]) -> dict[str, str]:
        """Make and keep the secrets that are missing; return all secrets of the vault.

        Args:
            makers: variable name (with the prefix ``vault_``) to a function that makes its value.

        Raises:
            AvadmError: the vault cannot be read, opened or written.
        """
        if not makers:
            return self.read()
        with self.extended() as secrets:
            add_missing(secrets, makers)
        return secrets

    def values(self) -> list[str]:
        """Return every secret value, also those inside lists and mappings, longest first, for taking them out of logs."""
        return sorted({v for v in texts(self._read()) if v}, key=len, reverse=True)

    def ansible_args(self) -> list[str]:
        """Return the arguments that hand the secrets to ansible-playbook by file, if any."""
        if not self.path.exists():
            return []
        return ["-e", f"@{self.path}", "--vault-password-file", str(self.password_file)]

    def _read(self) -> dict[str, Any]:
        """Return what the file holds; it is decrypted once as long as it is the same file."""
        try:
            file = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise self._failed("The vault cannot be read.", self.path, error) from error
        version = (file.st_ino, file.st_mtime_ns, file.st_size)
        if self._opened is None or self._opened[0] != version:
            self._opened = version, self._decrypted()
        return self._opened[1]

    def _decrypted(self) -> dict[str, Any]:
        from ansible.errors import AnsibleError

        try:
            data: Any = yaml.load(self._lib().decrypt(self.path.read_bytes()), Loader=LOADER)  # noqa: S506  a safe one
        except AnsibleError as error:
            raise AvadmError.of(
                "vault-locked",
                where=str(self.path),
                found=f"password from {self.password_file}",
                wanted="the password that the vault was made with",
                PASSWORD_ENV=PASSWORD_ENV,
            ) from error
        except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise self._failed("The vault cannot be read.", self.path, error) from error
        if not isinstance(data, dict):
            raise self._failed("The vault holds no variables.", self.path, "a mapping is wanted")
        return {str(k): v for k, v in data.items()}

    def _write(self, held: Mapping[str, Any]) -> None:
        text = "# Written by avadm; edit with `ansible-vault edit`.\n" + yaml.safe_dump(
            dict(held), width=1000
        )
        try:
            write_private(self.path, self._lib().encrypt(text.encode()))
        except OSError as error:
            raise self._failed("The vault cannot be written.", self.path, error) from error

    def _lib(self) -> Any:
        # Imported when needed: ansible's vault costs every other verb 0.3 s.
        from ansible.parsing.vault import VaultLib, VaultSecret

        return VaultLib([("default", VaultSecret(self._password()))])

    def _password(self) -> bytes:
        path = self.password_file
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return self._new_password()
        except OSError as error:
            raise self._failed("The vault's password cannot be read.", path, error) from error
        if stat.S_IMODE(mode) & 0o077:
            raise AvadmError.of(
                "vault-password-open",
                where=str(path),
                found=f"mode {stat.S_IMODE(mode):04o}",
                wanted="mode 0600",
                file=path,
            )
        if mode & 0o100:
            return self._scripted()
        try:
            password = path.read_bytes().strip()
        except OSError as error:
            raise self._failed("The vault's password cannot be read.", path, error) from error
        if not password:
            raise self._failed("The vault's password is empty.", path, "an empty file")
        return password

    def _scripted(self) -> bytes:
        """Run an executable password file, exactly as ansible-playbook will."""
        from ansible.errors import AnsibleError
        from ansible.parsing.dataloader import DataLoader
        from ansible.parsing.vault import get_file_vault_secret

        try:
            secret = get_file_vault_secret(filename=str(self.password_file), loader=DataLoader())
            secret.load()
        except AnsibleError as error:
            raise self._failed("The vault's password script failed.", self.password_file, error) from error
        return bytes(secret.bytes)

    def _new_password(self) -> bytes:
        if not self._own_password or self.path.exists():
            raise AvadmError.of(
                "vault-password-missing",
                where=str(self.password_file),
                found="nothing",
                wanted=f"the password of {self.path.name}",
                PASSWORD_ENV=PASSWORD_ENV,
            )
        password = secrets.token_urlsafe(32)
        try:
            write_private(self.password_file, f"{password}\n".encode())
        except OSError as error:
            raise self._failed(
                "The vault's password cannot be written.", self.password_file, error
            ) from error
        return password.encode()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep two runs from making one secret twice; a lock on the folder leaves no file."""
        try:
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed(
                "The folder of the vault cannot be opened.", self.path.parent, error
            ) from error
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    @staticmethod
    def _failed(what: str, path: Path, error: object) -> AvadmError:
        reason = getattr(error, "strerror", None) or str(error)
        return AvadmError.of("vault-unusable", where=str(path), found=reason, what=what)
