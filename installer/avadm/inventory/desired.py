"""What a site is to be: computed once for a command, after its secrets and certificates exist, and handed down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from avadm import paths
from avadm.components import certificates
from avadm.errors import AvadmError
from avadm.inventory.digest import Digests
from avadm.inventory.model import Variables
from avadm.inventory.variables import VARIABLES, variables
from avadm.inventory.vault_guard import refuse_lost, refuse_other
from avadm.pki.store import KeyStore
from avadm.site.load import SiteFile
from avadm.site.vault import Vault, add_missing


@dataclass(frozen=True, slots=True)
class Keyring:
    """Where a site's secrets and certificates are kept; opened once for a command.

    Attributes:
        vault: the secrets, among them all private keys.
        store: the certificates.
    """

    vault: Vault
    store: KeyStore

    @classmethod
    def open(cls, site_path: Path) -> Keyring:
        """Return the keyring of a site file; nothing is written, and the vault is not opened yet.

        Raises:
            AvadmError: the certificates cannot be read.
        """
        return cls(Vault.open(site_path), KeyStore.open(site_path))


@dataclass(frozen=True, slots=True)
class Desired:
    """What a site is to be.

    Attributes:
        site_file: the site.
        keyring: where its secrets are kept, and its certificates.
        secrets: secrets by name; None where the vault cannot be opened.
        variables: all variables of its inventory.
        digests: the digest of each phase's inputs on each node.
    """

    site_file: SiteFile
    keyring: Keyring
    secrets: Mapping[str, str] | None
    variables: Variables
    digests: Digests

    @classmethod
    def read(cls, site_file: SiteFile, keyring: Keyring) -> Desired:
        """Return what a site is to be as far as its secrets and certificates exist; nothing is written."""
        secrets: Mapping[str, str] | None
        try:
            secrets = keyring.vault.read()
        except AvadmError:
            secrets = None
        return cls._of(site_file, keyring, secrets, variables(site_file, keyring.store))

    @classmethod
    def make(
        cls,
        site_file: SiteFile,
        keyring: Keyring,
        known: Mapping[str, str] | None = None,
        before: Desired | None = None,
    ) -> Desired:
        """Make the secrets and certificates that a site lacks, and return what it is to be.

        Args:
            site_file: the site.
            keyring: where secrets and certificates are kept.
            known: what the state keeps of the site's vault (`vault_guard.marks`).
            before: what `read` returned; its variables stand where no certificate changes.

        Raises:
            AvadmError: the vault is lost, another one, or cannot be used, secrets that only the user knows are missing, or
                something cannot be written.
        """
        site, store, vault = site_file.site, keyring.store, keyring.vault
        # First, as a new vault would be made, or another site's filled up, and certificates signed with it.
        refuse_lost(site_file, vault)
        refuse_other(vault, known or {})
        with vault.extended() as secrets:
            # The certificates' keys first: the variables hold certificates, and name the secrets that are left to make.
            add_missing(secrets, certificates.makers(site))
            issued = certificates.issue(store, site, secrets)
            out = before.variables if before and issued is store else variables(site_file, issued)
            add_missing(secrets, out.secrets)
        for module in VARIABLES:
            if hasattr(module, "require"):
                module.require(site, secrets)
        # Only now, as the vault holds the keys.
        if issued is not store:
            issued.save()
        for module in VARIABLES:
            if hasattr(module, "keep_files"):
                module.keep_files(site, issued, secrets)
        return cls._of(site_file, Keyring(vault, issued), secrets, out)

    @classmethod
    def _of(
        cls, site_file: SiteFile, keyring: Keyring, secrets: Mapping[str, str] | None, out: Variables
    ) -> Desired:
        roles = {node.name: node.roles for node in site_file.site.nodes}
        digests = Digests(out, paths.home(), roles, secrets)
        return cls(site_file, keyring, secrets, out, digests)
