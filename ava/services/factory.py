"""Creation of the context from the settings."""

from __future__ import annotations

from pathlib import Path

from ava.db.database import Database, open_database
from ava.domain.problems import ApiError
from ava.kube.access import Access, InvalidKubeconfig, from_kubeconfig
from ava.services.auth import oidc_login
from ava.services.auth.directory import Directory
from ava.services.auth.encryption import sealer
from ava.services.auth.ldap import LdapDirectory
from ava.services.auth.oidc import Provider
from ava.services.auth.permissions import table
from ava.services.config import Config
from ava.services.context import Context, new_context, utc_now
from ava.services.logs.combined import CombinedLogs
from ava.services.logs.interface import Logs, NoLogs
from ava.services.logs.live import LiveLogs
from ava.services.logs.secrets import Secrets
from ava.services.logs.victoria import KeptLogs
from ava.services.registry.images import PushedImages, made
from ava.services.registry.tokens import signer
from ava.settings import ConfigError


def database(config: Config) -> Database:
    """Return the database; nothing is connected to yet. ConfigError where its address is none."""
    try:
        return open_database(config.database.address())
    except (ApiError, ValueError) as error:
        raise ConfigError(f"database: {error}") from error


def logs(config: Config) -> Logs:
    """Return the sources of logs; ConfigError where a file is of no use."""
    live = {name: _access(c.kubeconfig) for name, c in config.clusters.items() if c.kubeconfig is not None}
    kept: Logs = KeptLogs(config.log_stores) if config.log_stores else NoLogs()
    return CombinedLogs(LiveLogs(live, Secrets(config.log_secrets)), kept) if live else kept


def _access(path: Path) -> Access:
    try:
        return from_kubeconfig(path)
    except InvalidKubeconfig as error:
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
    return Provider(config.oidc, config.oidc.address + oidc_login.CALLBACK)


def _written(path: Path, where: str) -> None:
    """Raise ConfigError where a file with a secret is missing, unreadable or empty."""
    try:
        if not path.read_text(encoding="utf-8").strip():
            raise ConfigError(f"{where}: {path} is empty")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: {error}") from error


def pushing(config: Config) -> PushedImages | None:
    """Return the site's registry as users push to it, None where they push nothing; ConfigError without key or certificates."""
    if config.user_registry is None:
        return None
    signs = signer(config.user_registry)
    try:
        return made(config, signs, utc_now)
    except OSError as error:
        raise ConfigError(f"registries.{config.user_registry.pulled}: {error}") from error


def make(config: Config) -> Context:
    """Return the services; ConfigError with what is wrong."""
    table()
    seal = sealer(config.sealing_key)
    ways = {"directory": directory(config), "provider": provider(config), "pushed": pushing(config)}
    return new_context(database(config), config, seal, logs=logs(config), **ways)
