"""Loading a file of users, groups and quotas: every error of it in one pass, each with its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from avadm.catalogue import finding
from avadm.errors import EXIT_COULD_NOT_RUN, AvadmError
from avadm.findings import Finding
from avadm.platform_users.model import People
from avadm.site.errors import explain
from avadm.site.source import KeyPath, Source, read
from avadm.site.text import FileExpectation

FILE = FileExpectation(
    "a file of users and groups", "Write one (docs/how-to/administer-ava.md), or name another."
)


@dataclass(frozen=True, slots=True)
class PeopleFile:
    """A file that was found good."""

    people: People
    source: Source

    def where(self, *path: str | int) -> str:
        """Return ``people.yml:12 users[3].email`` for a key path."""
        return self.source.place(path)


def load(path: Path) -> PeopleFile:
    """Return what a file says; AvadmError with all that is wrong with it (exit status 2)."""
    source = read(path.absolute(), FILE)
    findings = [f for f in source.findings if f.check != "yaml-empty"]
    people = None
    if source.data is not None and not findings:
        try:
            people = People.model_validate(source.data)
        except ValidationError as error:
            findings += explain(error, source, People)[0]
        else:
            findings += _rules(people, source)
    elif not findings:
        people = People()
    if people is None or findings:
        raise AvadmError(findings, EXIT_COULD_NOT_RUN)
    return PeopleFile(people, source)


def _rules(people: People, source: Source) -> list[Finding]:
    """Return what does not go together."""
    named: list[tuple[str, str, KeyPath]] = []
    for i, user in enumerate(people.users):
        named.append(("user", user.name, ("users", i, "name")))
        named.append(("e-mail address", user.email.lower(), ("users", i, "email")))
    for i, group in enumerate(people.groups):
        named.append(("group", group.name, ("groups", i, "name")))
        named += [
            (f"member of {group.name}", m, ("groups", i, "members", k)) for k, m in enumerate(group.members)
        ]
    return [*_twice(named, source), *_defaults(people, source)]


def _twice(named: list[tuple[str, str, KeyPath]], source: Source) -> Iterator[Finding]:
    first: dict[tuple[str, str], KeyPath] = {}
    for what, name, path in named:
        before = first.setdefault((what, name), path)
        if before != path:
            yield finding(
                "people-twice",
                where=source.place(path),
                found=f"{name}, as at {source.place(before)}",
                wanted="once",
                what=what,
                name=name,
            )


def _defaults(people: People, source: Source) -> Iterator[Finding]:
    members = {group.name: group.members for group in people.groups}
    for i, user in enumerate(people.users):
        chosen = user.default_group
        # Of a group that the file does not have, the platform knows the members.
        if chosen in members and user.name not in members[chosen]:
            yield finding(
                "people-default-group",
                where=source.place(("users", i, "default_group")),
                found=f"{chosen}, whose members here are {', '.join(members[chosen]) or 'none'}",
                wanted=f"a group of which {user.name} is a member",
                name=user.name,
            )
