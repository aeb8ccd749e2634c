import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from avadm.artifacts import manifest
from avadm.artifacts.commands import Done
from avadm.artifacts.manifest import Artifact, Wanted
from avadm.artifacts.store import Store

RECIPE = """
toolchain: go1.26.8
steps:
  - module: {name: example.org/thing, version: v1.2.3, sum: "h1:right", to: src}
  - replace: {file: src/main.go, old: worse, new: better}
  - build: {package: ., folder: src, output: thing, ldflags: ["-X main.version=1.2.3"]}
"""


@dataclass
class FakeCommands:
    """Plays Go and the built program; what it was asked is kept."""

    module: Path
    says: str = "thing 1.2.3"
    sum: str = "h1:right"
    fails: str = ""
    asked: list[tuple[tuple[str, ...], Path, dict[str, str]]] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        heard: Callable[[str], None] = lambda line: None,
    ) -> Done:
        self.asked.append((tuple(argv), cwd, dict(env)))
        if self.fails and self.fails in argv:
            return Done(1, said=("it is broken",))
        match list(argv[:3]):
            case ["go", "mod", "download"]:
                return Done(0, json.dumps({"Dir": str(self.module), "Sum": self.sum}))
            case ["go", "build", "-o"]:
                Path(argv[3]).write_bytes((cwd / "main.go").read_bytes())
                return Done(0)
            case ["go", "env", _]:
                return Done(0, "go1.26.8\n")
        return Done(0, f"{self.says}\n")

    def stop(self) -> None:
        pass


@pytest.fixture
def artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Artifact:
    monkeypatch.setattr(manifest, "FOLDER", tmp_path / "data")
    recipe = tmp_path / "data/recipes/thing"
    recipe.mkdir(parents=True)
    (recipe / "recipe.yml").write_text(RECIPE)
    return Artifact(
        name="thing",
        title="a thing",
        version="1.2.3",
        files={"thing": Wanted(ask=("--version",), says="thing 1.2.3")},
    )


@pytest.fixture
def commands(tmp_path: Path) -> FakeCommands:
    module = tmp_path / "module"
    module.mkdir()
    (module / "main.go").write_text("worse\n")
    (module / "main.go").chmod(0o444)
    module.chmod(0o555)
    return FakeCommands(module)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")
