"""What the platform has of that which a file names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ava.client import Client
from avadm.platform_users.model import People


@dataclass(frozen=True, slots=True)
class Person:
    """A user as the platform has it."""

    email: str
    admin: bool
    state: str
    default_group: str | None
    email_confirmed: bool | None = None


@dataclass(frozen=True, slots=True)
class CurrentState:
    """What is there.

    Attributes:
        users: all, by name.
        quotas: of all groups by name: amounts, None: no limit.
        members: of the groups that were asked for.
        keys: of the users that were asked for: name to key, in two words.
        homes: the same: limits that were chosen for their homes, None: none.
    """

    users: Mapping[str, Person]
    quotas: Mapping[str, Mapping[str, int | None]]
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    homes: Mapping[str, int | None] = field(default_factory=dict)


def read(ava: Client, people: People, also: frozenset[str] = frozenset()) -> CurrentState:
    """Ask the platform.

    Args:
        ava: an administrator's client.
        people: what the file says: of others than it names little is asked.
        also: further groups and users whose members and keys are wanted; * in a name.

    Raises:
        Refused: it does not answer, or not this caller.
    """
    users = {
        u.name: Person(u.email, u.admin, u.state, u.default_group, u.email_confirmed) for u in ava.users()
    }
    quotas = {g.name: g.quota.model_dump() for g in ava.groups(all=True)}
    grouped = {g.name for g in people.groups} | _matching(quotas, also)
    keyed = {u.name for u in people.users if u.ssh_keys} | _matching(users, also)
    housed = {u.name for u in people.users if u.home is not None}
    return CurrentState(
        users,
        quotas,
        {name: frozenset(m.name for m in ava.members(name)) for name in sorted(grouped & quotas.keys())},
        {name: {k.name: bare(k.value) for k in ava.keys_of(name)} for name in sorted(keyed & users.keys())},
        {name: ava.home(name).chosen for name in sorted(housed & users.keys())},
    )


def _matching(names: Iterable[str], patterns: Iterable[str]) -> set[str]:
    wanted = list(patterns)
    return {name for name in names if any(fnmatchcase(name, pattern) for pattern in wanted)}


def bare(key: str) -> str:
    """Return a public key without its comment, as the platform keeps it."""
    return " ".join(key.split()[:2])
