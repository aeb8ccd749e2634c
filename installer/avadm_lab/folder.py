"""The lab's own folder (.lab in the checkout, or AVADM_LAB_DIR): its memory and its secrets."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from avadm import paths
from avadm.errors import DAMAGE, AvadmError
from avadm.private_files import write_private
from avadm_lab.layout import Config


@dataclass(frozen=True, slots=True)
class Folder:
    """The lab's files, by name."""

    root: Path

    @property
    def state(self) -> Path:
        """lab.json: the configuration; its presence says that the folder is a lab's."""
        return self.root / "lab.json"

    @property
    def site(self) -> Path:
        """The lab's site file."""
        return self.root / "site.yml"

    @property
    def key(self) -> Path:
        """Private key for the nodes; `avadm bootstrap` installs it there."""
        return self.root / "id_ed25519"

    @property
    def password(self) -> Path:
        """One line: root's password on every node."""
        return self.root / "password"

    @property
    def known_hosts(self) -> Path:
        """Host keys of the nodes, as the lab made them, for `avadm lab ssh`."""
        return self.root / "lab_known_hosts"

    @property
    def disks(self) -> Path:
        """Sparse files behind the nodes' block devices."""
        return self.root / "disks"

    def host_keys(self, node: str) -> Path:
        """A node's own sshd key, kept so that a node made again is still the same host."""
        return self.root / "hostkeys" / node

    def read(self) -> dict[str, Any] | None:
        """Return what lab.json holds, None where there is no lab."""
        try:
            text = self.state.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return dict(json.loads(text))
        except DAMAGE as e:
            raise self._broken(str(e)) from e

    def config(self) -> Config | None:
        """Return the lab's configuration, None where there is no lab."""
        if (data := self.read()) is None:
            return None
        try:
            return Config.model_validate(data.get("config"))
        except ValidationError as e:
            raise self._broken(str(e)) from e

    def is_anothers(self, name: str) -> bool:
        """Whether the folder holds a lab of another name; one that cannot be read is taken for the named one."""
        try:
            config = self.config()
        except AvadmError:
            return False
        return config is not None and config.name != name

    def write(self, data: dict[str, Any]) -> None:
        """Write lab.json whole or not at all."""
        fresh = self.state.with_suffix(".new")
        fresh.write_text(json.dumps(data, indent=2) + "\n")
        fresh.replace(self.state)

    def check(self) -> None:
        """Raise AvadmError where a folder with other things in it is in the way."""
        if self.root.exists() and not self.state.exists() and any(self.root.iterdir()):
            raise AvadmError.of(
                "lab-folder",
                where=str(self.root),
                found=", ".join(sorted(p.name for p in self.root.iterdir())[:5]),
                wanted="an empty folder or none",
            )

    def make(self) -> None:
        """Make the folder, for its owner alone."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o700)

    def secrets(self) -> None:
        """Make the root password where there is none yet."""
        if not self.password.exists():
            write_private(self.password, f"{secrets.token_urlsafe(18)}\n".encode())

    def remove(self) -> None:
        """Remove the folder with all it holds, if it is a lab's."""
        if self.state.exists():
            shutil.rmtree(self.root)

    def _broken(self, why: str) -> AvadmError:
        return AvadmError.of(
            "lab-state", where=str(self.state), found=why.splitlines()[0], wanted="what `avadm lab up` wrote"
        )


def default() -> Folder:
    """Return the lab's folder: AVADM_LAB_DIR, or the usual one."""
    return Folder(Path(os.environ.get("AVADM_LAB_DIR") or usual()).resolve())


def usual() -> Path:
    """Return where a lab is kept: .lab in a checkout, else ~/.avadm-lab."""
    return paths.home() / ".lab" if paths.checkout() else Path.home() / ".avadm-lab"
