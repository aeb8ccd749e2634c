"""The context of all services: database, settings, clients, clock; created once per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ava.db.database import Database
from ava.services.auth.directory import Directory
from ava.services.auth.encryption import Sealer
from ava.services.auth.oidc import Provider
from ava.services.auth.passwords import Passwords
from ava.services.auth.rate_limits import RateLimits
from ava.services.config import Config, Limits
from ava.services.logs.interface import Logs, NoLogs
from ava.services.registry.client import Registries
from ava.services.registry.images import PushedImages


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


REFUSALS = "1/minute"
"""Lines of the audit log about refused requests of one user and one action."""


def rates(limits: Limits) -> RateLimits:
    """Return the counters of the settings' limits."""
    return RateLimits(
        login_address=limits.login_address,
        login_account=limits.login_account,
        login_name=limits.login_name,
        login_slow=limits.login_slow,
        registration=limits.registration,
        confirmation_account=limits.confirmation_account,
        confirmation_address=limits.confirmation_address,
        confirmation_site=limits.confirmation_site,
        submit=limits.submit,
        change=limits.change,
        refusal=REFUSALS,
    )


@dataclass(slots=True)
class Context:
    """Database, settings and clients that services work with.

    Attributes:
        clock: UTC; tests set it.
    """

    db: Database
    config: Config
    sealer: Sealer
    passwords: Passwords
    rates: RateLimits
    logs: Logs = field(default_factory=NoLogs)
    directory: Directory | None = None
    registries: Registries = field(default_factory=lambda: Registries({}))
    provider: Provider | None = None
    pushed: PushedImages | None = None
    clock: Callable[[], datetime] = utc_now

    def audit(
        self,
        who: str,
        action: str,
        object: str,
        outcome: str,
        address: str,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a line of the audit log; ``detail`` never holds a secret."""
        self.db.audit.write(
            self.clock(),
            who=who,
            action=action,
            object=object,
            outcome=outcome,
            address=address,
            detail=dict(detail or {}),
        )


def new_context(db: Database, config: Config, sealer: Sealer, **more: Any) -> Context:
    """Return the services over a database."""
    made: dict[str, Any] = {"rates": rates(config.limits), "registries": Registries(config.registries)}
    # A hasher takes a hash's time to make.
    if "passwords" not in more:
        made["passwords"] = Passwords()
    return Context(db=db, config=config, sealer=sealer, **(made | more))
