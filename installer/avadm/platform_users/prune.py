"""What is taken away: only what an option names, and only what the file does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ava.client import Client
from avadm.catalogue import finding
from avadm.errors import EXIT_COULD_NOT_RUN, AvadmError
from avadm.platform_users.current import CurrentState
from avadm.platform_users.diff import Change
from avadm.platform_users.load import PeopleFile

KINDS = ("user", "group", "member", "key")
WANTED = "user:NAME, group:NAME, member:GROUP/USER or key:USER/NAME; * in a name means several"


@dataclass(frozen=True, slots=True)
class Extra:
    """Something of the platform that the file does not have.

    Attributes:
        name: as --prune names it: ``member:vision/bob``.
        about, what: as a change tells of it.
        do: takes it away.
    """

    name: str
    about: str
    what: str
    do: Callable[[Client], object]

    @property
    def option(self) -> str:
        """What takes it away."""
        return f"--prune {self.name}"


def extras(file: PeopleFile, there: CurrentState, me: str) -> list[Extra]:
    """Return what the file does not have, in the order in which it can be taken away; never who asks (``me``)."""
    return [*_members(file, there), *_keys(file, there), *_users(file, there, me), *_groups(file, there)]


def chosen(found: Sequence[Extra], names: Sequence[str]) -> list[Change]:
    """Return the removals that --prune names.

    Raises:
        AvadmError: a name that is none, or that nothing has which may be taken away (exit status 2).
    """
    wrong = [n for n in names if n.partition(":")[0] not in KINDS or not n.partition(":")[2]]
    missing = [n for n in names if n not in wrong and "*" not in n and all(not _is(e, n) for e in found)]
    findings = [finding("prune-name", where=f"--prune {n}", found=n, wanted=WANTED) for n in wrong]
    findings += [
        finding(
            "prune-nothing",
            where=f"--prune {n}",
            found=n,
            wanted="something that the platform has and the file has not",
        )
        for n in missing
    ]
    if findings:
        raise AvadmError(findings, EXIT_COULD_NOT_RUN)
    return [Change(e.about, e.what, e.option, e.do) for e in found if any(_is(e, name) for name in names)]


def _is(extra: Extra, name: str) -> bool:
    return fnmatchcase(extra.name, name)


def _members(file: PeopleFile, there: CurrentState) -> Iterator[Extra]:
    wanted = {g.name: set(g.members) for g in file.people.groups}
    for group, have in sorted(there.members.items()):
        for user in sorted(have - wanted.get(group, set())):
            name = f"member:{group}/{user}"
            yield Extra(name, f"group {group}", f"member {user}: take out", _out(group, user))


def _out(group: str, user: str) -> Callable[[Client], object]:
    return lambda ava: ava.remove_member(group, user)


def _keys(file: PeopleFile, there: CurrentState) -> Iterator[Extra]:
    wanted = {u.name: u.ssh_keys.keys() for u in file.people.users}
    for user, have in sorted(there.keys.items()):
        for key in sorted(have.keys() - wanted.get(user, set())):
            yield Extra(f"key:{user}/{key}", f"user {user}", f"ssh key {key}: remove", _unkeyed(user, key))


def _unkeyed(user: str, key: str) -> Callable[[Client], object]:
    return lambda ava: ava.delete_key_of(user, key)


def _users(file: PeopleFile, there: CurrentState, me: str) -> Iterator[Extra]:
    wanted = {u.name for u in file.people.users} | {me}
    for user, person in sorted(there.users.items()):
        if user not in wanted and person.state != "disabled":
            yield Extra(f"user:{user}", f"user {user}", "disable", _disabled(user))


def _disabled(user: str) -> Callable[[Client], object]:
    return lambda ava: ava.change_user(user, state="disabled")


def _groups(file: PeopleFile, there: CurrentState) -> Iterator[Extra]:
    wanted = {g.name for g in file.people.groups}
    for group in sorted(there.quotas.keys() - wanted):
        yield Extra(f"group:{group}", f"group {group}", "delete", _deleted(group))


def _deleted(group: str) -> Callable[[Client], object]:
    return lambda ava: ava.delete_group(group)
