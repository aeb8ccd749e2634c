"""The images that the site offers."""

from __future__ import annotations

from ava.http.routing import router
from ava.schemas.runs import ImageOut
from ava.services import images
from ava.services.auth.caller import Someone

routes = router("images")


@routes.get("/images")
def list_images(who: Someone) -> list[ImageOut]:
    """Return the images that a definition may name, by name; any other is named in full (N4)."""
    return images.list_images(who)
