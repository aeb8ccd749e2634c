"""`ava completion`: the script that makes a shell complete verbs and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell: add `eval "$(ava completion bash)"` to your ~/.bashrc."""
    source = get_completion_class(shell)
    if source is None:
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(source(ctx.find_root().command, {}, "ava", "_AVA_COMPLETE").source())
