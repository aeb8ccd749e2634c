"""What the routes work with, made once at the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ava.api.config import Config, Limits
from ava.api.directory import Directory
from ava.api.logs.interface import Logs, NoLogs
from ava.api.oidc import Provider
from ava.api.passwords import Passwords
from ava.api.rates import Rates
from ava.api.registry import Registries
from ava.api.sealing import Sealer
from ava.store.interface import Store

if TYPE_CHECKING:
    from ava.api.pushed import Pushed


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


REFUSALS = "1/minute"
"""Lines of the audit log about refused requests of one user and one action."""


def rates(limits: Limits) -> Rates:
    """Return the counters of the settings' limits."""
    return Rates(
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
class Services:
    """All of it.

    Attributes:
        clock: UTC; tests set it.
    """

    store: Store
    config: Config
    sealer: Sealer
    passwords: Passwords
    rates: Rates
    logs: Logs = field(default_factory=NoLogs)
    directory: Directory | None = None
    registries: Registries = field(default_factory=lambda: Registries({}))
    provider: Provider | None = None
    pushed: Pushed | None = None
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
        self.store.log(
            self.clock(),
            who=who,
            action=action,
            object=object,
            outcome=outcome,
            address=address,
            detail=dict(detail or {}),
        )


def services(store: Store, config: Config, sealer: Sealer, **more: Any) -> Services:
    """Return the services over a store."""
    made: dict[str, Any] = {"rates": rates(config.limits), "registries": Registries(config.registries)}
    # A hasher takes a hash's time to make.
    if "passwords" not in more:
        made["passwords"] = Passwords()
    return Services(store=store, config=config, sealer=sealer, **(made | more))
