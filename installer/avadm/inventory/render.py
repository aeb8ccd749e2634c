"""An ordinary Ansible inventory from a site file: it works by hand with ansible-playbook as well."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from avadm.components.alluxio import placement as cache
from avadm.errors import AvadmError
from avadm.inventory.desired import Desired, Keyring
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.site.placement import log_stores
from avadm.site.rules.nodes import rack_group
from avadm.site.vault import Vault

MARK = "# Written by avadm from the site file; change that instead.\n"

# Ansible reads with PyYAML, so that PyYAML knows what must be quoted for it; libyaml is ten times as fast.
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class Inventory:
    """An inventory on disk.

    Attributes:
        folder: what `ansible-playbook -i` takes.
        groups: group name to node names, in the site file's order; groups without nodes are left out.
        vault: where the secrets are.
    """

    folder: Path
    groups: dict[str, list[str]]
    vault: Vault

    def ansible_args(self) -> list[str]:
        """Return the arguments of ansible-playbook for this inventory and its secrets."""
        return ["-i", str(self.folder), *self.vault.ansible_args()]


def render_inventory(
    site_file: SiteFile,
    folder: Path,
    known: Mapping[str, Any] | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> Inventory:
    """Make the secrets and certificates that a site lacks and write its inventory; see `Desired.make` and `write`."""
    return write(Desired.make(site_file, Keyring.open(site_file.path)), folder, known, own)


def write(
    desired: Desired,
    folder: Path,
    known: Mapping[str, Any] | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> Inventory:
    """Write the inventory of a site; files that are right already are left untouched.

    Args:
        desired: the site.
        folder: where it is written.
        known: further variables of all nodes, from the state (state/bootstrap_marks.py); no input of a phase's digest.
        own: further variables of single nodes, for this run alone.

    Raises:
        AvadmError: the folder holds something else or cannot be written.
    """
    site, out = desired.site_file.site, desired.variables
    grouped = groups(site)
    children = {group: {"hosts": dict.fromkeys(names)} for group, names in grouped.items()}
    hosts = {"all": {"hosts": dict.fromkeys(n.name for n in site.nodes), "children": children}}
    files = {"hosts.yml": hosts, "group_vars/all.yml": {**out.all, **(known or {})}}
    files |= {
        f"host_vars/{name}.yml": {**held, **(own or {}).get(name, {})} for name, held in out.hosts.items()
    }
    try:
        _refuse_foreign(folder)
        for name, content in files.items():
            _write(folder / name, content)
        for stale in (folder / "host_vars").glob("*.yml"):
            if f"host_vars/{stale.name}" not in files:
                stale.unlink()
    except OSError as error:
        raise AvadmError.of(
            "inventory-unwritable",
            where=str(error.filename or folder),
            found=error.strerror or str(error),
            wanted="a folder of one's own",
        ) from error
    return Inventory(folder.absolute(), grouped, desired.keyring.vault)


def groups(site: Site) -> dict[str, list[str]]:
    """Return the inventory's groups: the roles that nodes have, and the racks."""
    found: dict[str, list[str]] = {}
    for node in site.nodes:
        for group in (*node.roles, rack_group(node.rack)):
            found.setdefault(group, []).append(node.name)
    if stores := log_stores(site):
        found["log_store"] = [n.name for n in stores]
    if clients := cache.clients(site):
        found["alluxio_client"] = [n.name for n in clients]
    return dict(sorted(found.items()))


def _refuse_foreign(folder: Path) -> None:
    """Never write over an inventory that somebody keeps by hand."""
    hosts = folder / "hosts.yml"
    if hosts.exists() and not hosts.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        raise AvadmError.of(
            "inventory-foreign", where=str(hosts), found="a foreign file", wanted="an empty or new folder"
        )


def _write(path: Path, content: object) -> None:
    text = MARK + yaml.dump(content, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=1000)
    if path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
