"""`ava images`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, note, print_json, size, table
from ava.client import Client
from ava.domain.problems import ApiError
from ava.schemas.images import ImageUseOut, PushedOut


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def images(ctx: click.Context, json_: bool) -> None:
    """Show the images that the site offers, any other one is named in full; show and delete what you have pushed."""
    if ctx.invoked_subcommand is not None:
        return
    client = ctx.ensure_object(App).client()
    found = client.images()
    if json_:
        print_json(found)
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
    if rows:
        table(("IMAGE", "WHAT", "FRAMEWORK", "PYTHON", "CUDA", "SIZE", "FOR"), rows, right=("SIZE",))
    else:
        note("The site offers none: name an image in full, as in registry.example.org/torch:2.")
    _pushed(client)


def _pushed(client: Client) -> None:
    """Tell what one has pushed, where users can; what is offered is shown whether the registry answers or not."""
    try:
        for one in client.pushed_images():
            note(f"{one.owner}/…: {_space(one)} (`ava images mine`)")
    except ApiError as refused:
        if refused.status not in (404, 503):
            raise


def _space(one: PushedOut) -> str:
    limit = f"of {size(one.limit)}" if one.limit is not None else "without a limit"
    deleted = f", {size(one.waiting)} deleted that goes at night" if one.waiting else ""
    return f"{size(one.used)} {limit}{deleted}"


@images.command()
@click.option("--group", metavar="GROUP", help="Of this group alone.")
@click.option("--user", metavar="USER", help="Of this user, for administrators.")
@as_json
@click.pass_obj
def mine(app: App, group: str | None, user: str | None, json_: bool) -> None:
    """List what you and your groups have pushed, how much of their space it takes, and what uses it."""
    if group is not None and user is not None:
        raise click.UsageError("one of --group and --user")
    found = app.client().pushed_images(user=user, group=group)
    if json_:
        print_json(found)
        return
    rows = [
        (i.name, ", ".join(i.tags[1:]), size(i.size), f"{ago(i.pushed)} ago", _used(i.uses))
        for one in found
        for i in one.images
    ]
    if rows:
        table(("IMAGE", "ALSO", "SIZE", "PUSHED", "USED BY"), rows, right=("SIZE",))
    for one in found:
        note(f"{one.owner}: {_space(one)}")
        if one.full:
            note(f"! Nothing more can be pushed: {one.full}")


def _used(uses: list[ImageUseOut]) -> str:
    return ", ".join(f"{u.kind} {u.name or f'of {u.owner}'}" for u in uses)


@images.command()
@click.argument("names", metavar="IMAGE...", nargs=-1, required=True)
@as_json
@click.pass_obj
def delete(app: App, names: tuple[str, ...], json_: bool) -> None:
    """Delete images that you or your groups have pushed, each with all its tags, while no run or definition uses them."""
    client, deleted = app.client(), []
    try:
        for name in names:
            gone = client.delete_pushed_image(name)
            deleted.append(gone)
            also = [f"{gone.repository}:{tag}" for tag in gone.tags]
            if not json_:
                note(f"Deleted {', '.join(also) or gone.name}.")
    finally:
        # The next name may be refused; what was deleted before is printed.
        if json_:
            print_json(deleted)
