"""What is to be changed so that the platform has what a file says; nothing is done here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ava.client import Client
from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.platform_users.current import CurrentState, Person, bare
from avadm.platform_users.load import PeopleFile
from avadm.platform_users.model import Group, User, amount

PARTS = ("users", "groups", "quotas")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to do.

    Attributes:
        about: what it is about: ``user alice``.
        what: what is done, with what was before.
        where: file:line that wants it, or the option.
        do: does it.
        invite: name of the user who gets a link afterwards; "" for none.
    """

    about: str
    what: str
    where: str
    do: Callable[[Client], object]
    invite: str = ""


def changes(file: PeopleFile, there: CurrentState, parts: tuple[str, ...] = PARTS) -> list[Change]:
    """Return what is to be done, in the order in which it can be."""
    users = list(enumerate(file.people.users))
    groups = list(enumerate(file.people.groups))
    found: list[Change] = []
    if "users" in parts:
        found += [c for i, user in users for c in _user(file, i, user, there)]
    if "groups" in parts:
        found += [c for i, group in groups for c in _group(file, i, group, there, "quotas" in parts)]
        found += [c for i, group in groups for c in _members(file, i, group, there)]
        found += [c for i, user in users for c in _default(file, i, user, there)]
    if "quotas" in parts:
        found += [c for i, group in groups for c in _quota(file, i, group, there)]
        found += [c for i, user in users for c in _home(file, i, user, there)]
    return found


def unknown(file: PeopleFile, there: CurrentState, parts: tuple[str, ...] = PARTS) -> list[Finding]:
    """Return what the file names that neither it nor the platform has."""
    users = there.users.keys() | ({u.name for u in file.people.users} if "users" in parts else set())
    groups = there.quotas.keys() | ({g.name for g in file.people.groups} if "groups" in parts else set())
    named: list[tuple[str, str, str, bool]] = []
    if "groups" in parts:
        for i, group in enumerate(file.people.groups):
            named += [
                ("user", m, file.where("groups", i, "members", k), m in users)
                for k, m in enumerate(group.members)
            ]
        for i, user in enumerate(file.people.users):
            if user.default_group is not None:
                known = user.default_group in groups
                named.append(("group", user.default_group, file.where("users", i, "default_group"), known))
            if "users" not in parts:
                named.append(("user", user.name, file.where("users", i), user.name in users))
    elif "quotas" in parts:
        named += [
            ("group", g.name, file.where("groups", i), g.name in groups)
            for i, g in enumerate(file.people.groups)
        ]
        named += [
            ("user", u.name, file.where("users", i), u.name in users)
            for i, u in enumerate(file.people.users)
            if u.home is not None and "users" not in parts
        ]
    return [
        finding(
            "people-unknown",
            where=where,
            found=name,
            wanted=f"a {kind} of the file or of the platform",
            kind=kind,
            name=name,
        )
        for kind, name, where, known in named
        if not known
    ]


def _user(file: PeopleFile, i: int, user: User, there: CurrentState) -> Iterator[Change]:
    name, where, before = f"user {user.name}", file.where("users", i), there.users.get(user.name)
    if before is None:
        admin = bool(user.admin)
        yield Change(
            name,
            f"make, {user.email}{', administrator' if admin else ''}",
            where,
            lambda ava: ava.make_user(user.name, user.email, admin=admin),
            user.name if user.state != "disabled" else "",
        )
        before = Person(user.email, admin, "active", None)
    waits = "active" if before.state == "pending" else before.state
    wanted = {
        "email": user.email.lower(),
        "admin": before.admin if user.admin is None else user.admin,
        "state": user.state or waits,
    }
    for key, new in wanted.items():
        old = getattr(before, key)
        if old != new and not (key == "email" and old.lower() == new):
            yield Change(
                name, f"{key}: {_value_text(old)} → {_value_text(new)}", where, _changed(user.name, key, new)
            )
    email = wanted["email"]
    if before.email_confirmed is False and before.email.lower() == email:
        # The file vouches for it; an administrator who sets an address confirms it.
        yield Change(name, f"email: confirm {email}", where, _changed(user.name, "email", email))
    keys = there.keys.get(user.name, {})
    for key, value in user.ssh_keys.items():
        if keys.get(key) != bare(value):
            verb = "another" if key in keys else "put"
            yield Change(
                name,
                f"ssh key {key}: {verb}",
                file.where("users", i, "ssh_keys", key),
                _keyed(user.name, key, value),
            )


def _changed(name: str, key: str, value: object) -> Callable[[Client], object]:
    return lambda ava: ava.change_user(name, **{key: value})


def _keyed(name: str, key: str, value: str) -> Callable[[Client], object]:
    return lambda ava: ava.put_key_of(name, key, value)


def _group(file: PeopleFile, i: int, group: Group, there: CurrentState, whole: bool) -> Iterator[Change]:
    if group.name in there.quotas:
        return
    quota = group.quota.amounts() if whole else {}
    text = f" with {_quota_text(quota)}" if quota else ""
    yield Change(
        f"group {group.name}",
        f"make{text}",
        file.where("groups", i),
        lambda ava: ava.make_group(group.name, quota),
    )


def _members(file: PeopleFile, i: int, group: Group, there: CurrentState) -> Iterator[Change]:
    have = there.members.get(group.name, frozenset())
    for k, member in enumerate(group.members):
        if member not in have:
            where = file.where("groups", i, "members", k)
            yield Change(
                f"group {group.name}", f"member {member}: put in", where, _joined(group.name, member)
            )


def _joined(group: str, member: str) -> Callable[[Client], object]:
    return lambda ava: ava.add_member(group, member)


def _default(file: PeopleFile, i: int, user: User, there: CurrentState) -> Iterator[Change]:
    wanted = user.default_group
    before = there.users[user.name].default_group if user.name in there.users else None
    if wanted is None or wanted == before:
        return
    # Who is in no group yet gets the first one that the file puts the user into by itself.
    first = next((g.name for g in file.people.groups if user.name in g.members), None)
    if before is None and first == wanted:
        return
    yield Change(
        f"user {user.name}",
        f"default group: {_value_text(before or first)} → {wanted}",
        file.where("users", i, "default_group"),
        lambda ava: ava.set_default_group_of(user.name, wanted),
    )


def _quota(file: PeopleFile, i: int, group: Group, there: CurrentState) -> Iterator[Change]:
    reply, before = group.quota.amounts(), there.quotas.get(group.name)
    if before is None:
        return
    other = {key: value for key, value in reply.items() if before[key] != value}
    if other:
        # The whole is sent: what the file leaves out stays as it is now.
        whole = {**before, **reply}
        yield Change(
            f"group {group.name}",
            "quota: " + ", ".join(f"{k} {_amount(k, before[k])} → {_amount(k, v)}" for k, v in other.items()),
            file.where("groups", i, "quota"),
            lambda ava: ava.set_quota(group.name, whole),
        )


def _home(file: PeopleFile, i: int, user: User, there: CurrentState) -> Iterator[Change]:
    if user.home is None:
        return
    wanted, before = amount("storage", user.home), there.homes.get(user.name)
    if before != wanted:
        yield Change(
            f"user {user.name}",
            f"home: {_amount('storage', before)} → {_amount('storage', wanted)}",
            file.where("users", i, "home"),
            lambda ava: ava.limit_home(user.name, wanted),
        )


def _quota_text(quota: Mapping[str, int | None]) -> str:
    return ", ".join(f"{key} {_amount(key, value)}" for key, value in quota.items())


def _amount(name: str, value: int | None) -> str:
    if value is None:
        return "none"
    if name == "cpu":
        return f"{value / 1000:g}"
    if name == "gpu":
        return str(value)
    size, unit = next(
        ((s, u) for s, u in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB")) if value >= s), (1, "bytes")
    )
    return f"{value / size:.6g} {unit}"


def _value_text(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
