"""The images that the site offers."""

from __future__ import annotations

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import router
from ava.schemas.runs import ImageOut
from ava.services import images

routes = router("images")


@routes.get("/images")
def list_images(context: CurrentContext, caller: Someone) -> list[ImageOut]:
    """Return the images that a definition may name, by name; any other is named in full (N4)."""
    return images.list_images(context, caller)
