"""A vault that is gone while what was made with it is there is never recreated: its keys would fit nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from avadm.catalogue import finding
from avadm.errors import DAMAGE, AvadmError
from avadm.findings import Finding
from avadm.site.vault import Vault

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

STABLE = ("vault_ceph_fsid", "vault_pki_key_ca_etcd")
"""What tells one vault from another, the first that there is: an authority's key may be changed on purpose, an fsid never."""
SECRET_PHASES = frozenset(
    {"ceph", "cephfs", "objects", "etcd", "masters", "nodes", "registry", "logs", "grafana"}
)
"""Phases that are never begun without a vault, for states that keep no mark of it."""
REMEDY = (
    "Bring {vault} and its password {password} back from where they are kept, then `avadm site render --out DIR`, `avadm site "
    "check`, and `avadm plan`, which must show nothing that was not planned before. If both are lost for good: the nodes still "
    "hold the keys that they use, and no new vault fits them; take them down into a new one by hand, or install again: move "
    "{evidence} away first."
)


def marks(secrets: Mapping[str, str]) -> dict[str, str]:
    """Return what the state keeps of a vault, by variable: hashes that tell nothing of it."""
    name = next((name for name in STABLE if secrets.get(name)), None)
    return {name: _mark(name, secrets[name])} if name else {}


def _mark(name: str, value: str) -> str:
    return hashlib.sha256(f"{name}\0{value}".encode()).hexdigest()[:16]


def evidence(site_path: Path, name: str) -> list[Path]:
    """Return the files that were made with the vault of a site, as far as this controller has them."""
    state_file = site_path.parent / ".avadm" / name / "ledger.json"
    found = [path for path in (site_path.with_suffix(".pki.json"),) if path.exists()]
    try:
        reply = json.loads(state_file.read_text(encoding="utf-8"))
        used = "vault" in reply.get("founded", {}) or SECRET_PHASES & reply["phases"].keys()
    except FileNotFoundError:
        used = False
    except DAMAGE:
        used = True  # whatever it was: something was installed
    return [*found, state_file] if used else found


def lost(site_file: SiteFile, vault: Vault, copies: Sequence[str] = ()) -> Finding | None:
    """Return what is wrong where a site's vault is gone.

    Args:
        site_file: the site.
        vault: its vault.
        copies: nodes that keep a copy of its state, whatever its signature.
    """
    if vault.path.exists():
        return None
    held = [str(path) for path in evidence(site_file.path.absolute(), site_file.site.name)]
    names = ", ".join([*held, *(f"the copy of the state on {node}" for node in copies)])
    if not names:
        return None
    return finding(
        "vault-lost",
        where=str(vault.path),
        found=f"no file, but {names}",
        wanted="the vault that the site was installed with",
        remedy=REMEDY.format(vault=vault.path.name, password=vault.password_file.name, evidence=names),
    )


def refuse_lost(site_file: SiteFile, vault: Vault, copies: Sequence[str] = ()) -> None:
    """Raise AvadmError where a site's vault is gone; the arguments are those of `lost`."""
    if finding := lost(site_file, vault, copies):
        raise AvadmError(finding)


def refuse_other(vault: Vault, known: Mapping[str, str]) -> None:
    """Raise AvadmError where a vault is not that of the state's marks (`known`), before anything is made with it.

    One that lacks what the state knows of is another one: an empty or damaged file must not be filled up.
    """
    name = next((name for name in STABLE if name in known), None)
    if name is None or not vault.path.exists():  # that one is lost, which `lost` says
        return
    if _mark(name, vault.read().get(name, "")) == known[name]:
        return
    raise AvadmError.of(
        "vault-other",
        where=str(vault.path),
        found=f"another {name}, or none",
        wanted="that of the state, which the site's nodes also keep",
        remedy=REMEDY.format(vault=vault.path.name, password=vault.password_file.name, evidence="the state"),
    )
