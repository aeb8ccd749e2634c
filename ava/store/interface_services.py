"""What the ledger can do for services (interface.py says what holds for all methods)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from ava.domain.model import Run
from ava.domain.problems import Problem
from ava.domain.resources import Resources
from ava.domain.serving import Service


class Services(Protocol):
    """Services, beside what they have as runs."""

    def service(self, run: str) -> Service:
        """Return what is wanted of a service's run; 404 where the run is none."""

    def addresses(self) -> Mapping[str, str]:
        """Return the group of each admitted service, by the first label of the service's host name."""

    def revision(self, run: str, number: int) -> Mapping[str, Any]:
        """Return the definition of a revision."""

    def update_service(self, run: str, spec: Mapping[str, Any], now: datetime) -> Run:
        """Give a service another definition; what makes the pods of the settled revision takes an update back.

        409 for one that ends; 422 for what can never fit.
        """

    def scale_service(self, run: str, count: int, now: datetime) -> Service:
        """Set how many replicas are wanted; 422 outside of the definition's bounds, 409 for one that ends."""

    def settle_service(self, run: str, revision: int, now: datetime) -> None:
        """Keep that all replicas are of a revision and ready."""

    def service_trouble(self, run: str, trouble: str, now: datetime) -> None:
        """Keep why a service does not come to what is wanted, empty for nothing; its owner is told once of each."""

    def recharge(self, run: str, amount: Resources, now: datetime) -> Sequence[Problem]:
        """Charge another amount for a service from now on (one charge ends, another begins); return why not."""
