"""Repositories of the site's registry: whose they are, and who may push there, pull from there, and run what is in them.

``users/NAME/…`` is NAME's, ``groups/GROUP/…`` its members'; everything else is the site's, which users read.
"""

from __future__ import annotations

from collections.abc import Collection

from ava.domain.model import Group
from ava.domain.problems import ApiError
from ava.domain.spec import Spec
from ava.services.auth.authorization import is_member
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.registry import deletions
from ava.services.registry.client import REPOSITORY, RegistryUnavailable, away, split, unknown
from ava.services.registry.tokens import Granted

LONGEST = 255
_SITE = "avadm"
"""Below this lie the site's own images; further ones that an administrator has put there are the nodes' to pull."""
OWNERS = ("users", "groups")
NOTHING: frozenset[str] = frozenset()
MOST = 20
"""Scopes of one request."""
_ACTIONS = ("pull", "push")


def rights(context: Context, caller: Caller, repository: str) -> frozenset[str]:
    """Return what somebody may do with a repository: ``pull``, ``push``; nothing where that is none of the registry's."""
    kind, owner = owned(repository)
    if kind == "":
        return frozenset({"pull"}) if repository.startswith(f"{_SITE}/") else NOTHING
    return frozenset({"pull", "push"}) if _is_theirs(context, caller, kind, owner) else NOTHING


def grant(context: Context, caller: Caller, asked: Collection[str]) -> Granted:
    """Return what somebody gets of what is asked for; ``asked`` as the client sends it, nothing for a login that only looks."""
    granted: dict[str, tuple[str, ...]] = {}
    for kind, name, actions in scopes(asked)[:MOST]:
        # Neither the catalogue (registry:catalog:*) nor removal is anybody's here.
        may = rights(context, caller, name) if kind == "repository" else frozenset()
        wanted = {*actions, *granted.get(name, ())}
        if found := tuple(a for a in _ACTIONS if a in wanted and a in may):
            granted[name] = found
    return granted


def owned(repository: str) -> tuple[str, str]:
    """Return whose a repository is: ``("users", NAME)``, ``("groups", GROUP)``, ``("", "")`` for the site's.

    What is no repository, or lies in ``users`` or ``groups`` itself, is no one's: ``("users", "")``.
    """
    if len(repository) > LONGEST or REPOSITORY.fullmatch(repository) is None:
        return OWNERS[0], ""
    kind, _, rest = repository.partition("/")
    if kind not in OWNERS:
        return "", ""
    owner, _, image = rest.partition("/")
    return kind, owner if image else ""


def _is_theirs(context: Context, caller: Caller, kind: str, owner: str) -> bool:
    if caller.user is None or not owner:
        return False
    if kind == "users":
        return owner == caller.user.name
    group = group_of(context, caller, owner)
    return group is not None and is_member(context, caller, group)


def group_of(context: Context, caller: Caller, name: str) -> Group | None:
    """Return a group, None where there is none (any more)."""
    try:
        return context.db.groups.get(name)
    except ApiError as refused:
        if refused.status == 404:
            return None
        raise


def _user_image(context: Context, caller: Caller, spec: Spec) -> tuple[str, str, bool] | None:
    """Return the name to pull, the repository, and whether it is theirs, of an image where users push; None for another."""
    pushed = context.config.user_registry
    image = named(spec.image, pushed.host, pushed.pulled) if pushed is not None else None
    if image is None:
        return None
    repository, _ = split(image.partition("/")[2])
    kind, owner = owned(repository)
    return (image, repository, _is_theirs(context, caller, kind, owner)) if kind else None


def user_repository(context: Context, caller: Caller, spec: Spec) -> str | None:
    """Return the repository of a definition's image where it is the caller's or a group's of theirs; None else."""
    found = _user_image(context, caller, spec)
    return found[1] if found is not None and found[2] else None


def resolve_user_image(context: Context, caller: Caller, spec: Spec, where: str = "body.spec") -> Spec:
    """Return a definition whose image, where users push such, is the one that is there now, by its digest.

    The run keeps that one, whatever is pushed later; an image that is on a node already is used by anyone who names it, so
    this is where it is decided who may run it.

    Raises:
        ApiError: 422 for an image that is not there or not theirs, which is reported in the same words; 409 while one of its
            repository is being deleted; 503 where the registry does not answer.
    """
    if (found := _user_image(context, caller, spec)) is None:
        return spec
    image, repository, theirs = found
    own = None
    if theirs:
        # Before the registry is asked: what goes afterwards goes only where no start has claimed the repository.
        deletions.wait(context, caller, repository, where)
        try:
            own = context.registries.own(image)
        except RegistryUnavailable:
            raise away(where) from None
    if own is None:
        raise unknown(spec.image, where)
    return spec.model_copy(update={"image": own.image})


def named(image: str, pushing: str, pulling: str) -> str | None:
    """Return the name under which nodes pull an image of the site's registry; None for one of another registry."""
    host, _, rest = image.partition("/")
    if host in OWNERS and rest:
        return f"{pulling}/{image}"
    return f"{pulling}/{rest}" if host.lower() in (pushing.lower(), pulling.lower()) else None


def scopes(texts: Collection[str]) -> list[tuple[str, str, list[str]]]:
    """Return what tokens are asked for: type, name, actions of each ``TYPE:NAME:ACTION,…``; what is none is left out."""
    found = []
    for text in " ".join(texts).split():
        kind, _, rest = text.partition(":")
        name, _, actions = rest.rpartition(":")
        if name:
            found.append((kind, name, actions.split(",")))
    return found
