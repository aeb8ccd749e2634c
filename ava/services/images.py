"""Images of the site's catalogue."""

from __future__ import annotations

from ava.schemas.runs import ImageOut
from ava.services.auth.authorization import authorize
from ava.services.auth.caller import Caller
from ava.services.context import Context


def list_images(context: Context, caller: Caller) -> list[ImageOut]:
    """Return the images that a definition may name, by name; any other is named in full (N4)."""
    authorize(context, caller, "images.list")
    offered = context.config.images
    return [
        ImageOut(
            name=name,
            image=row.image,
            title=row.title,
            framework=row.framework,
            version=row.version,
            python=row.python,
            cuda=row.cuda,
            uses=list(row.uses),
            size=row.size or None,
        )
        for name, row in sorted(offered.items())
    ]
