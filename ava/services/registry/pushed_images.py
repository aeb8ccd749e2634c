"""Images that users have pushed: list and delete."""

from __future__ import annotations

from ava.domain.model import ImageUse
from ava.domain.names import shown
from ava.domain.phrases import Phrase, listed, sentences
from ava.domain.problems import ApiError, Problem, conflict, missing
from ava.schemas.images import ImageUseOut, PushedImageOut, PushedOut, PushedQuery
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.registry import deletions, images, usage
from ava.services.registry.client import split
from ava.services.registry.images import Account, Image, PushedImages
from ava.services.registry.repositories import OWNERS, group_of, named, owned
from ava.services.serializers import answer

USERS, GROUPS = OWNERS
SHOWN = 5
"""Uses that a refusal names."""


def _registry(context: Context, caller: Caller) -> PushedImages:
    found = context.pushed
    if found is None:
        raise ApiError(
            404,
            Problem(
                "not-found",
                Phrase("Users push no images here."),
                "request",
                Phrase("no registry for users"),
                Phrase("a site whose registry takes users' images"),
                Phrase("Ask an administrator."),
            ),
        )
    return found


def _may(context: Context, caller: Caller, action: str, owner: str, what: str, where: str) -> None:
    """Return if the caller may do it with an owner's images; what is neither theirs nor there is reported in the same words."""
    kind, _, name = owner.partition("/")
    if kind == USERS:
        authorize(context, caller, action, owner=name, what=what, where=where)
    else:
        # An administrator also sees what a group has left behind.
        authorize(context, caller, action, group=group_of(context, caller, name), what=what, where=where)


def _theirs(context: Context, caller: Caller) -> list[str]:
    groups = context.db.groups.list(user=caller.me.name, limit=500).items
    return [f"{USERS}/{caller.me.name}", *(f"{GROUPS}/{g.name}" for g in groups)]


def list_pushed(context: Context, caller: Caller, query: PushedQuery) -> list[PushedOut]:
    """Return what users and groups have in the registry, with the images, newest first."""
    if query.user is not None and query.group is not None:
        raise ApiError(
            422,
            Problem(
                "owner-twice",
                Phrase("Both a user and a group given."),
                "query.group",
                Phrase("a user too"),
                Phrase("a user or a group"),
            ),
        )
    owners = _theirs(context, caller)
    if query.user is not None:
        owners = [f"{USERS}/{query.user}"]
    elif query.group is not None:
        owners = [f"{GROUPS}/{query.group}"]
    for owner in owners:
        _may(context, caller, "pushed-images.show", owner, owner, "query")
    registry = _registry(context, caller)
    return [_shape(context, caller, registry.account(owner)) for owner in owners]


def _shape(context: Context, caller: Caller, account: Account) -> PushedOut:
    found = usage.uses(context, caller, account.owner)
    whole = [image for image in account.images if not _lists_of(image, account)]
    return PushedOut(
        owner=account.owner,
        used=account.used,
        waiting=account.waiting,
        limit=account.limit,
        full=sentences(*(problem.what for problem in images.full(account))),
        images=[
            _image(image, [_use(caller, one) for one in usage.of(image, found)])
            for image in sorted(whole, key=lambda i: (i.pushed, i.name), reverse=True)
        ],
    )


def _image(image: Image, uses: list[ImageUseOut]) -> PushedImageOut:
    return answer(PushedImageOut, image, uses=uses)


def _use(caller: Caller, one: ImageUse) -> ImageUseOut:
    """Return a use as the caller may know it: names and ids of others' work are theirs."""
    whole = caller.me.admin or one.owner == caller.me.name
    return ImageUseOut(
        kind=one.kind, id=one.id if whole else "", name=one.name if whole else "", owner=one.owner
    )


def _lists_of(image: Image, account: Account) -> list[Image]:
    """Return the lists of images of which one without a tag of its own is a part."""
    if image.tags:
        return []
    same = (one for one in account.images if one.repository == image.repository)
    return [one for one in same if image.digest in one.parts]


def delete_pushed(context: Context, caller: Caller, image: str) -> PushedImageOut:
    """Delete an image, ``users/NAME/IMAGE:TAG`` or ``…@DIGEST``, with all tags that it has; the answer says which."""
    settings = context.config.user_registry
    full = named(image, settings.host, settings.pulled) if settings else None
    repository, reference = split(full.partition("/")[2] if full else image)
    kind, name = owned(repository)
    if not (kind and name):
        raise missing(_what(image), "path.image")
    owner = f"{kind}/{name}"
    _may(context, caller, "pushed-images.delete", owner, _what(image), "path.image")
    registry = _registry(context, caller)
    change = record_change(context, caller, "pushed-images.delete", f"image {image}")
    with change, deletions.deleting(context, caller, repository) as removing:
        account = registry.account(owner, "path.image")
        found = _found(account, repository, reference or "latest", image)
        parts = _own_parts(found, account)
        _unused(context, caller, owner, found, [part.digest for part in parts])
        for one in (found, *parts):
            removing()
            registry.remove(one, "path.image")
    return _image(found, [])


def _found(account: Account, repository: str, reference: str, image: str) -> Image:
    for one in account.images:
        if one.repository == repository and reference in (one.digest, *one.tags):
            if lists := _lists_of(one, account):
                raise conflict(
                    "image-part",
                    Phrase("This is one architecture's part of another image."),
                    "path.image",
                    Phrase("Delete the whole image."),
                    found=Phrase("a part of {image}", image=lists[0].name),
                    wanted=Phrase("an image of its own"),
                )
            return one
    raise missing(_what(image), "path.image")


def _what(image: str) -> str:
    return f"image {shown(image)}"


def _own_parts(image: Image, account: Account) -> list[Image]:
    """Return the parts of a list that go with it: those without tags that no other list has."""
    parts = [
        one for one in account.images if one.repository == image.repository and one.digest in image.parts
    ]
    return [one for one in parts if not one.tags and _lists_of(one, account) == [image]]


def _unused(context: Context, caller: Caller, owner: str, image: Image, parts: list[str]) -> None:
    if context.db.images.is_claimed(image.repository, context.clock()):
        raise conflict(
            "image-in-use",
            Phrase("A run of an image of this repository is being started."),
            "path.image",
            Phrase("Try again in two minutes."),
            found=shown(image.repository),
            wanted=Phrase("a repository of which no run is being started"),
        )
    if not (found := usage.of(image, usage.uses(context, caller, owner), parts=parts)):
        return
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    raise conflict(
        "image-in-use",
        Phrase("The image is in use."),
        "path.image",
        Phrase("Stop the runs, and delete the definitions or give them another image; then delete it."),
        found=listed([*(_describe(_use(caller, one)) for one in found[:SHOWN]), *more]),
        wanted=Phrase("an image that no definition and no run that has not finished names"),
    )


def _describe(use: ImageUseOut) -> str:
    if not use.name:
        return f"a {use.kind} of {use.owner}"
    if use.kind == "run":
        return Phrase("run {id}", id=f"{use.id} ({use.name})")
    return Phrase("definition {id}", id=use.name)
