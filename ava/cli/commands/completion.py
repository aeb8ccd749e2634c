"""`ava completion`: shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ava.cli.app import as_json
from ava.cli.output import print_json


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@as_json
@click.pass_context
def completion(ctx: click.Context, shell: str, json_: bool) -> None:
    """Print a shell's completion script; add `eval "$(ava completion bash)"` to your ~/.bashrc."""
    source = get_completion_class(shell)
    if source is None:
        raise click.UsageError(f"click has no completion for {shell}")
    script = source(ctx.find_root().command, {}, "ava", "_AVA_COMPLETE").source()
    print_json({"shell": shell, "script": script}) if json_ else click.echo(script)
