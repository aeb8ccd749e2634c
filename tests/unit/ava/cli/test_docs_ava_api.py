"""The examples of docs/how-to/use-ava.md do what they say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ava.cli import main
from tests.unit.ava.api.site import WORD
from tests.unit.ava.served import Served

TEXT = (Path(__file__).parents[4] / "docs/how-to/use-ava.md").read_text()
COMMANDS = [
    line[2:] for block in re.findall(r"```console\n(.*?)```", TEXT, re.S) for line in block.splitlines()
]
IMAGES = {"ava-pytorch": {"image": "registry.site:5000/avadm/ava-pytorch:1-0123456789ab"}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A site that offers the image of the examples."""
    made = Served(tmp_path, config={"images": IMAGES})
    yield made
    made.close()


def test_the_commands_run_in_their_order(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for verb in ("login", "register"):
        monkeypatch.setattr(f"ava.cli.commands.{verb}.password", lambda prompt="": WORD)
    (tmp_path / "training.yml").write_text(re.search(r"```yaml\n(.*?)```", TEXT, re.S)[1])  # type: ignore[index]
    assert len(COMMANDS) >= 12
    for command in COMMANDS:
        # ann is there already: she registers as somebody else here.
        argv = shlex.split(command.replace("https://ava.example.org", served.url))[1:]
        argv = [a.replace("ann", "newcomer") for a in argv] if "register" in argv else argv
        assert main.run(argv) == 0, (command, capfd.readouterr().err)
    assert len(served.db.runs.list().items) == 2, "--check starts nothing"


def test_the_python_example_runs(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", TEXT, re.S)
    assert code is not None
    exec(code[1], {"server": served.url, "token": served.token("ann")})  # noqa: S102  our own page
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[1] == "queued"
    assert second.startswith("422 body.spec.queue See `ava queue`.")
