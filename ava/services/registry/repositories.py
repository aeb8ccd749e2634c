"""Repositories of the site's registry: whose they are, and who may push there, pull from there, and run what is in them.

``users/NAME/…`` is NAME's, ``groups/GROUP/…`` its members'; everything else is the site's, which users read.
"""

from __future__ import annotations

from collections.abc import Collection

from ava.domain.model import Group
from ava.domain.problems import ApiError
from ava.domain.spec import Spec
from ava.services.auth.caller import Caller
from ava.services.registry import deletions
from ava.services.registry.client import REPOSITORY, RegistryUnavailable, away, split, unknown

LONGEST = 255
_SITE = "avadm"
"""Below this lie the site's own images; further ones that an administrator has put there are the nodes' to pull."""
OWNERS = ("users", "groups")
NOTHING: frozenset[str] = frozenset()


def rights(who: Caller, repository: str) -> frozenset[str]:
    """Return what somebody may do with a repository: ``pull``, ``push``; nothing where that is none of the registry's."""
    kind, owner = owned(repository)
    if kind == "":
        return frozenset({"pull"}) if repository.startswith(f"{_SITE}/") else NOTHING
    return frozenset({"pull", "push"}) if _is_theirs(who, kind, owner) else NOTHING


def owned(repository: str) -> tuple[str, str]:
    """Return whose a repository is: ``("users", NAME)``, ``("groups", GROUP)``, ``("", "")`` for the site's.

    What is no repository, or lies in ``users`` or ``groups`` itself, is nobody's: ``("users", "")``.
    """
    if len(repository) > LONGEST or REPOSITORY.fullmatch(repository) is None:
        return OWNERS[0], ""
    kind, _, rest = repository.partition("/")
    if kind not in OWNERS:
        return "", ""
    owner, _, image = rest.partition("/")
    return kind, owner if image else ""


def _is_theirs(who: Caller, kind: str, owner: str) -> bool:
    if who.user is None or not owner:
        return False
    if kind == "users":
        return owner == who.user.name
    group = group_of(who, owner)
    return group is not None and who.is_member(group)


def group_of(who: Caller, name: str) -> Group | None:
    """Return a group, None where there is none (any more)."""
    try:
        return who.services.store.group(name)
    except ApiError as refused:
        if refused.status == 404:
            return None
        raise


def _user_image(who: Caller, spec: Spec) -> tuple[str, str, bool] | None:
    """Return the name to pull, the repository, and whether it is theirs, of an image where users push; None for another."""
    pushed = who.services.config.user_registry
    image = named(spec.image, pushed.host, pushed.pulled) if pushed is not None else None
    if image is None:
        return None
    repository, _ = split(image.partition("/")[2])
    kind, owner = owned(repository)
    return (image, repository, _is_theirs(who, kind, owner)) if kind else None


def user_repository(who: Caller, spec: Spec) -> str | None:
    """Return the repository of a definition's image where it is the caller's or a group's of theirs; None else."""
    found = _user_image(who, spec)
    return found[1] if found is not None and found[2] else None


def resolve_user_image(who: Caller, spec: Spec, where: str = "body.spec") -> Spec:
    """Return a definition whose image, where users push such, is the one that is there now, by its digest.

    The run keeps that one, whatever is pushed later; an image that is on a node already is used by whoever names it, so
    this is where it is decided who may run it.

    Raises:
        ApiError: 422 for an image that is not there or not theirs, which is told in the same words; 409 while one of its
            repository is being deleted; 503 where the registry does not answer.
    """
    if (found := _user_image(who, spec)) is None:
        return spec
    image, repository, theirs = found
    own = None
    if theirs:
        # Before the registry is asked: what goes afterwards goes only where no start has claimed the repository.
        deletions.wait(who, repository, where)
        try:
            own = who.services.registries.own(image)
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
