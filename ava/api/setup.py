"""From settings to services."""

from __future__ import annotations

from pathlib import Path

from ava.api import entry
from ava.api.config import Config
from ava.api.directory import Directory
from ava.api.ldap import LdapDirectory
from ava.api.logs.both import BothLogs
from ava.api.logs.interface import Logs, NoLogs
from ava.api.logs.live import LiveLogs
from ava.api.logs.secrets import Secrets
from ava.api.logs.victoria import KeptLogs
from ava.api.matrix import table
from ava.api.oidc import Provider
from ava.api.pushed import Pushed, made
from ava.api.registry_tokens import signer
from ava.api.sealing import sealer
from ava.api.services import Services, services, utc_now
from ava.domain.problems import Refused
from ava.kube.access import Access, BadAccess, from_kubeconfig
from ava.settings import ConfigError
from ava.store.interface import Store
from ava.store.open import open_store


def store(config: Config) -> Store:
    """Return the ledger; nothing is connected to yet. ConfigError where its address is none."""
    try:
        return open_store(config.database.address())
    except (Refused, ValueError) as error:
        raise ConfigError(f"database: {error}") from error


def logs(config: Config) -> Logs:
    """Return the sources of logs; ConfigError where a file is of no use."""
    live = {name: _access(c.kubeconfig) for name, c in config.clusters.items() if c.kubeconfig is not None}
    kept: Logs = KeptLogs(config.log_stores) if config.log_stores else NoLogs()
    return BothLogs(LiveLogs(live, Secrets(config.log_secrets)), kept) if live else kept


def _access(path: Path) -> Access:
    try:
        return from_kubeconfig(path)
    except BadAccess as error:
        raise ConfigError(str(error)) from error


def directory(config: Config) -> Directory | None:
    """Return the directory that people log in by, None without one; ConfigError without the service account's password."""
    if config.ldap is None:
        return None
    if config.ldap.search is not None:
        _written(config.ldap.search.passfile, "ldap.search.passfile")
    return LdapDirectory(config.ldap)


def provider(config: Config) -> Provider | None:
    """Return the OpenID Connect provider that people log in at, None without one; ConfigError without its secret."""
    if config.oidc is None:
        return None
    _written(config.oidc.secret_file, "oidc.secret_file")
    return Provider(config.oidc, config.oidc.address + entry.CALLBACK)


def _written(path: Path, where: str) -> None:
    """Raise ConfigError where a file with a secret is missing, unreadable or empty."""
    try:
        if not path.read_text(encoding="utf-8").strip():
            raise ConfigError(f"{where}: {path} is empty")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: {error}") from error


def pushing(config: Config) -> Pushed | None:
    """Return the site's registry as users push to it, None where they push nothing; ConfigError without key or certificates."""
    if config.user_registry is None:
        return None
    signs = signer(config.user_registry)
    try:
        return made(config, signs, utc_now)
    except OSError as error:
        raise ConfigError(f"registries.{config.user_registry.pulled}: {error}") from error


def make(config: Config) -> Services:
    """Return the services; ConfigError with what is wrong."""
    table()
    seal = sealer(config.sealing_key)
    ways = {"directory": directory(config), "provider": provider(config), "pushed": pushing(config)}
    return services(store(config), config, seal, logs=logs(config), **ways)
