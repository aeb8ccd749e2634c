"""`ava images`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import note, print_json, size, table


@click.command()
@as_json
@click.pass_obj
def images(app: App, json_: bool) -> None:
    """Show the images that the site offers; any other one is named in full."""
    found = app.client().images()
    if json_:
        print_json(found)
        return
    if not found:
        note("The site offers none: name an image in full, as in registry.example.org/torch:2.")
        return
    rows = [
        (
            i.name,
            i.title,
            "" if i.framework == "none" else f"{i.framework} {i.version}".strip(),
            i.python,
            i.cuda,
            size(i.size) if i.size else "",
            ", ".join(i.uses),
        )
        for i in found
    ]
    table(("IMAGE", "WHAT", "FRAMEWORK", "PYTHON", "CUDA", "SIZE", "FOR"), rows, right=("SIZE",))
