"""Which image a definition means."""

from __future__ import annotations

from collections.abc import Mapping

from ava.domain.phrases import Phrase, noun
from ava.domain.problems import Problem
from ava.domain.spec import Spec
from ava.images.catalogue import Offered, known
from ava.services.runs.rules.site import Site, some


def image(spec: Spec, site: Site, at: str) -> list[Problem]:
    """Return why the image is not available; one that is named in full is the registry's to judge."""
    row = site.images.get(spec.image)
    if row is not None and spec.kind not in row.uses:
        return [
            Problem(
                "image-unfit",
                Phrase("{image} is no image for a {kind}.", image=spec.image, kind=noun(spec.kind)),
                f"{at}.image",
                spec.image,
                some([name for name, other in site.images.items() if spec.kind in other.uses]),
                Phrase("Choose another image (`ava image list`)."),
            )
        ]
    if row is None and spec.image in known():
        return [
            Problem(
                "image-not-offered",
                Phrase("This site does not offer {image}.", image=spec.image),
                f"{at}.image",
                spec.image,
                some(site.images),
                Phrase("Choose another one (`ava image list`), or ask an administrator for it."),
            )
        ]
    return []


def resolve_catalog_image(spec: Spec, offered: Mapping[str, Offered]) -> Spec:
    """Return a definition with the image's full name, and its command where the definition has none.

    What is started keeps that image, whatever the catalogue's name means later.
    """
    row = offered.get(spec.image)
    if row is None:
        return spec
    command = spec.command if spec.command or spec.kind == "workbench" else row.command
    return spec.model_copy(update={"image": row.image, "command": command})
