"""Commands of release 0.1 under their current names; each works with a warning until release 0.3."""

from __future__ import annotations

from collections.abc import Callable, Collection

RENAMED = {
    ("admin", "users"): ("user", "list"),
    ("admin", "make-user"): ("user", "create"),
    ("admin", "delete-user"): ("user", "delete"),
    ("admin", "invite"): ("user", "invite"),
    ("admin", "send-confirmation"): ("user", "send-confirmation"),
    ("admin", "make-group"): ("group", "create"),
    ("admin", "quota"): ("group", "set"),
    ("admin", "queue"): ("queue", "set"),
    ("admin", "delete-queue"): ("queue", "delete"),
    ("admin", "pool"): ("pool", "set"),
    ("admin", "delete-pool"): ("pool", "delete"),
    ("admin", "audit"): ("audit", "list"),
    ("account", "default-group"): ("account", "set-default-group"),
    ("data", "make"): ("data", "create"),
    ("groups",): ("group", "list"),
    ("images", "mine"): ("image", "list", "--mine"),
    ("images", "delete"): ("image", "delete"),
    ("images",): ("image", "list"),
    ("keys", "put"): ("key", "set"),
    ("keys",): ("key",),
    ("scale",): ("service", "scale"),
    ("tokens", "make"): ("token", "create"),
    ("tokens", "end"): ("token", "revoke"),
    ("tokens",): ("token",),
    ("why",): ("explain",),
    ("workbench", "run"): ("workbench", "start"),
    ("workbench", "grow"): ("workbench", "resize"),
}
DEFAULTS = {"cluster": "show", "queue": "show", "service": "show", "usage": "show"}
"""Nouns that were commands themselves, and what they did with an argument."""
HELP = ("-h", "--help")


def current_arguments(
    args: list[str], subcommands: Callable[[str], Collection[str]]
) -> tuple[list[str], str | None]:
    """Return the arguments with the command's current name, and the warning where they named a former one.

    Args:
        args: what stands after the options of `ava` itself; the first one names a command.
        subcommands: returns the verbs of a noun.
    """
    found = _renamed(args) or _defaulted(args, subcommands)
    if found is None:
        return args, None
    former, new, rest = found
    text = f"`ava {' '.join(former)}` is deprecated: use `ava {' '.join(new)}`."
    return [*new, *rest], text


def _renamed(args: list[str]) -> tuple[tuple[str, ...], tuple[str, ...], list[str]] | None:
    """Return the former name, the current one and the arguments after it; None for a current command."""
    head, rest = tuple(args[:2]), args[2:]
    if head == ("admin", "user"):
        state = next((word for word in ("active", "disabled") if word in rest), None)
        if state is None:
            return head, ("user",), ["list", *HELP[:1]]
        return head, ("user", "approve" if state == "active" else "disable"), _without(rest, state)
    if head == ("admin", "member"):
        if "--remove" in rest:
            return head, ("group", "remove-member"), _without(rest, "--remove")
        return head, ("group", "add-member"), rest
    if head == ("workbench", "keep"):
        return (
            head,
            ("workbench", "set"),
            [*_without(rest, "--end"), "--idle-stop", "on" if "--end" in rest else "off"],
        )
    if head == ("data", "space"):
        return head, ("storage", "set" if any(a.split("=")[0] == "--limit" for a in rest) else "show"), rest
    for length in (2, 1):
        if new := RENAMED.get(tuple(args[:length])):
            return tuple(args[:length]), new, args[length:]
    return None


def _without(args: list[str], word: str) -> list[str]:
    at = args.index(word) if word in args else len(args)
    return [*args[:at], *args[at + 1 :]]


def _defaulted(
    args: list[str], subcommands: Callable[[str], Collection[str]]
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]] | None:
    """Return the same for a noun without a verb, which release 0.1 took as a command."""
    noun, rest = args[0], args[1:]
    if noun not in DEFAULTS or any(a in HELP for a in rest) or (rest and rest[0] in subcommands(noun)):
        return None
    verb = "list" if noun == "queue" and all(a.startswith("-") for a in rest) else DEFAULTS[noun]
    return (noun,), (noun, verb), rest
