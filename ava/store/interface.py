"""What the ledger can do. Each method is one transaction; it is done whole or not at all.

Errors are ``ava.domain.problems.Refused``: 404 for what is not there, 409 for what the state does not allow. Times are
UTC and given by the caller (``now``), so that tests choose them; one without zone is refused. Users, groups, queues and
pools are known by their names (users and groups may be asked for by id too), definitions and runs by their ids. Ids are
made by the ledger (13 characters, lower case, sorted by time). Lists come in pages by keyset, newest first unless said
otherwise; ``after`` is a page's ``next``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from ava.domain.model import (
    Charge,
    Definition,
    Kind,
    Message,
    Outcome,
    Page,
    Phase,
    PodState,
    Run,
    Topic,
    Usage,
    User,
)
from ava.domain.problems import Problem
from ava.domain.resources import Resources
from ava.store.interface_benches import Benches
from ava.store.interface_folders import DataSets, Folders
from ava.store.interface_images import Images
from ava.store.interface_people import People, Settings
from ava.store.interface_services import Services

__all__ = ["Access", "Benches", "DataSets", "Folders", "Hand", "People", "Settings", "Store", "Work"]


class Work(Protocol):
    """Definitions, runs and their charges."""

    def put_definition(
        self,
        owner: str,
        kind: Kind,
        name: str,
        spec: Mapping[str, Any],
        now: datetime,
        *,
        replace: bool = False,
    ) -> Definition:
        """Store a definition. The same again changes nothing; another spec is 409 unless ``replace``."""

    def definition(self, id: str) -> Definition:
        """Return a definition that is not deleted."""

    def definitions(
        self,
        *,
        owner: str | None = None,
        kind: Kind | None = None,
        name: str | None = None,
        after: str | None = None,
        limit: int = 50,
        whole: bool = False,
    ) -> Page[Definition]:
        """Return definitions that are not deleted; of each the outline of its spec (domain/outline.py), unless ``whole``."""

    def delete_definition(self, id: str, now: datetime) -> None:
        """Mark a definition as deleted; 409 while a run of it is not finished. Its runs and charges stay."""

    def submit(
        self,
        definition: str,
        key: str,
        now: datetime,
        *,
        asks: Resources,
        spec: Mapping[str, Any],
        queue: str,
        priority: int,
        cluster: str,
        after: Sequence[str] = (),
    ) -> Run:
        """Make a run in the owner's default group, queued. The same owner and key again return the same run (N8).

        It is looked at once the runs ``after`` have succeeded; where one of them ends otherwise, it is aborted with a reason.

        409 for an owner without a group or shut out, or with too many runs waiting (1,000), a workbench that has a run
        already, a definition that is deleted, a key that was used for another definition; 422 for what is more than the
        group's or the queue's whole quota, which could never be admitted.
        """

    def run(self, id: str) -> Run:
        """Return a run."""

    def runs(
        self,
        *,
        owner: str | None = None,
        group: str | None = None,
        definition: str | None = None,
        kind: Kind | None = None,
        phase: Phase | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Run]:
        """Return runs; of each the outline of its spec, as do ``waiting`` and ``active``."""

    def waiting(self, limit: int = 1000, skip: int = 0) -> Sequence[Run]:
        """Return queued runs as they are looked at, after the first ``skip``: the queue's priority, the run's, then the oldest.

        What a user has beyond a hundred comes last: nobody hides the others' runs.
        """

    def active(self) -> Sequence[Run]:
        """Return all admitted runs."""

    def admit(self, run: str, now: datetime, *, cluster: str | None = None) -> Sequence[Problem]:
        """Charge group and queue and tell the operator; return why not, empty when done (also when it was before).

        Conditional updates in one transaction: no quota is exceeded under any interleaving. ``cluster`` is where a run
        that asked for ``any`` goes; the run's ``cluster`` becomes that. The run of an owner who was shut out waits.
        """

    def stop(self, run: str, now: datetime, *, by: str) -> Run:
        """Ask for the end. A queued run is finished at once; an admitted one when the operator says that its pods are gone."""

    def restart(self, run: str, attempt: int, now: datetime) -> Run:
        """Begin the attempt after ``attempt``; nothing changes where that was done before. The charge goes on.

        409 for a run that is not admitted, or that is to be stopped.
        """

    def finish(self, run: str, outcome: Outcome, reason: str, now: datetime) -> Run:
        """End a run whose pods are gone: ends its charge, tells the owner. Done twice, the first stays.

        An empty ``reason`` leaves who asked for the stop.
        """

    def waits_for(self, run: str, reasons: Sequence[Problem]) -> None:
        """Keep why a run waits, for people alone."""

    def allocate(
        self,
        run: str,
        amount: Resources,
        now: datetime,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> datetime | None:
        """Keep what a run has on nodes from ``since`` on, or had until ``until``; return when it first had something."""

    def charges(
        self,
        *,
        group: str | None = None,
        run: str | None = None,
        open_only: bool = False,
        after: int | None = None,
        limit: int = 1000,
    ) -> Sequence[Charge]:
        """Return charges, oldest first."""

    def stopping(self) -> Mapping[tuple[str, str], Resources]:
        """Return the open charges of runs that are being stopped, summed by ("group" or "queue", its name)."""

    def usage(
        self,
        since: datetime,
        until: datetime,
        *,
        now: datetime,
        group: str | None = None,
        user: str | None = None,
    ) -> Sequence[Usage]:
        """Return what was used and reserved between two times by user and group; what is open counts until ``now``."""


class Hand(Protocol):
    """What passes between the parts: the outbox, what pods do, signs of life."""

    def open_messages(
        self, topic: Topic, limit: int = 100, after: int = 0, cluster: str | None = None
    ) -> Sequence[Message]:
        """Return messages that nobody has done yet, in order; of runs of ``cluster`` alone, where it is given."""

    def done(self, seqs: Sequence[int], now: datetime) -> None:
        """Mark messages as carried out."""

    def wait(self, topic: Topic, seconds: float) -> bool:
        """Wait until a message may be there (LISTEN/NOTIFY) or the time is over."""

    def observe(self, run: str, pods: Sequence[PodState], now: datetime) -> None:
        """Replace what is known of a run's pods."""

    def pods(self, runs: Sequence[str]) -> Mapping[str, Sequence[PodState]]:
        """Return what was last seen of the pods of runs."""

    def alive(self, part: str, now: datetime, detail: Mapping[str, Any]) -> None:
        """Keep a sign of life of ``operator``, ``scheduler`` … with what it says of itself."""

    def signs(self) -> Mapping[str, tuple[datetime, Mapping[str, Any]]]:
        """Return the last sign of life of each part."""

    def sweep(self, before: datetime) -> int:
        """Remove messages that were done, and what ended before a time; return how many.

        Sessions, tokens, used log-ins, and deletions of images that broke off.
        """


class Access(Protocol):
    """Who may come in: sessions, tokens, keys, and the audit log."""

    def add_secret(
        self,
        user: str,
        kind: str,
        digest: str,
        now: datetime,
        *,
        until: datetime | None,
        label: str = "",
        scopes: Collection[str] | None = None,
    ) -> str:
        """Keep the SHA-256 of a session (``session``) or token (``token``); return its id. No scopes: everything."""

    def who(self, kind: str, digest: str, now: datetime) -> User | None:
        """Return whose session or token it is, if it has not ended and the person may log in."""

    def bearer(self, kind: str, digest: str, now: datetime) -> tuple[User, frozenset[str] | None] | None:
        """Return whose session or token it is and its scopes (None: everything), as ``who`` does."""

    def secrets(self, user: str, kind: str) -> Sequence[Mapping[str, Any]]:
        """Return id, label, created, until, used, scopes of a user's sessions or tokens."""

    def end_secret(self, user: str, id: str) -> None:
        """End a session or token of a user."""

    def put_key(
        self, user: str, kind: str, name: str, value: str, now: datetime, *, new: bool = False
    ) -> None:
        """Keep an ssh public key (``ssh``) or the sealed private deploy key (``deploy``) of a user.

        Where it has to be ``new``, one of the same name is refused, 409.
        """

    def keys(self, user: str, kind: str) -> Mapping[str, str]:
        """Return a user's keys by name."""

    def delete_key(self, user: str, kind: str, name: str) -> None:
        """Remove a key."""

    def log(
        self,
        now: datetime,
        *,
        who: str,
        action: str,
        object: str,
        outcome: str,
        address: str,
        detail: Mapping[str, Any],
    ) -> None:
        """Write a line of the audit log, which nothing changes or removes."""

    def audit(
        self,
        *,
        who: str | None = None,
        object: str | None = None,
        action: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Mapping[str, Any]]:
        """Return lines of the audit log, newest first."""


class Store(People, Settings, Work, Hand, Access, Benches, Services, Images, Folders, DataSets, Protocol):
    """The ledger."""

    def close(self) -> None:
        """Give its connections back."""
