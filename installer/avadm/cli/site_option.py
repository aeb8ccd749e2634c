"""Which site file is meant: the option --site after a verb, and the file that names the default one."""

from __future__ import annotations

import re
from pathlib import Path

import click

from avadm.errors import AvadmError

_NAME = "site_after_verb"


def with_site(command: click.Command) -> click.Command:
    """Give a verb and all its sub-verbs the hidden option --site; verbs that hand words on keep them all."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            # As short help click takes the first sentence and cuts it to the line; a given one is wrapped.
            inner.short_help = inner.short_help or first_sentence(inner.help or "")
            with_site(inner)
    if command.context_settings.get("ignore_unknown_options") or any(p.name == _NAME for p in command.params):
        return command
    option = click.Option(
        ["--site", _NAME],
        type=click.Path(path_type=Path),
        metavar="FILE",
        hidden=True,
        expose_value=False,
        callback=_chosen,
    )
    command.params.append(option)
    return command


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, without its full stop."""
    return re.split(r"\.(?:\s|$)|\n\s*\n", text.strip(), maxsplit=1)[0].replace("\n", " ")


def _chosen(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None and ctx.obj is not None:
        ctx.obj.choose(value)


def pointed(pointer: Path) -> Path:
    """Return the path that the default site's file holds; AvadmError where it holds none."""
    from avadm.site.text import plain

    text = pointer.read_bytes().decode("utf-8", "replace").strip()
    if not text.startswith("/") or not text.isprintable() or "\ufffd" in text:
        wanted = "one line, an absolute path"
        raise AvadmError.of("default-site", where=str(pointer), found=plain(text[:80]), wanted=wanted)
    return Path(text)
