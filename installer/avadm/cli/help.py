"""`avadm help`: the help of avadm or of a verb, as --help shows it."""

from __future__ import annotations

import click


@click.command()
@click.argument("words", nargs=-1, metavar="[VERB]...")
@click.pass_context
def help(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of avadm, or of a verb: `avadm help disk zap`."""
    context = ctx.find_root()
    for word in words:
        command = context.command
        if not isinstance(command, click.Group):
            raise click.UsageError(f"{context.command_path} has no verb {word!r}.", ctx)
        name, inner, _ = command.resolve_command(context, [word])
        if inner is None:
            raise click.UsageError(f"{context.command_path} has no verb {word!r}.", ctx)
        context = click.Context(inner, info_name=name, parent=context)
    click.echo(context.get_help())
