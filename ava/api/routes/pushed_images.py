"""Images that users have pushed: shown and deleted by whose they are, members of a group by each of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import router
from ava.schemas.images import PushedImageOut, PushedOut, PushedQuery
from ava.services.registry import pushed_images
from ava.services.registry.repositories import LONGEST

routes = router("images")
Name = Annotated[str, Path(min_length=1, max_length=LONGEST + 200)]


@routes.get("/pushed-images")
def list_pushed(
    context: CurrentContext, caller: Someone, query: Annotated[PushedQuery, Query()]
) -> list[PushedOut]:
    """Return what users and groups have in the registry, with the images, newest first."""
    return pushed_images.list_pushed(context, caller, query)


@routes.delete("/pushed-images/{image:path}")
def delete_pushed(image: Name, context: CurrentContext, caller: Someone) -> PushedImageOut:
    """Delete an image, ``users/NAME/IMAGE:TAG`` or ``…@DIGEST``, with all tags that it has; the answer says which.

    409 while a run that has not finished, or a definition, uses it. Its space can be used at once, and is given back at night.
    """
    return pushed_images.delete_pushed(context, caller, image)
