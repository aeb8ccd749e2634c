import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from avadm.artifacts import manifest
from avadm.artifacts.commands import CompletedCommand
from avadm.artifacts.manifest import Artifact, ExpectedFile
from avadm.artifacts.provide import ArtifactProvider
from avadm.artifacts.store import ArtifactState, ArtifactStore

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

    def run(self, argv, *, cwd, env, log, heard=None):
        self.asked.append((tuple(argv), cwd, dict(env)))
        if self.fails and self.fails in argv:
            return CompletedCommand(1, stderr_lines=("it is broken",))
        match list(argv[:3]):
            case ["go", "mod", "download"]:
                return CompletedCommand(0, json.dumps({"Dir": str(self.module), "Sum": self.sum}))
            case ["go", "build", "-o"]:
                Path(argv[3]).write_bytes((cwd / "main.go").read_bytes())
                return CompletedCommand(0)
            case ["go", "env", _]:
                return CompletedCommand(0, "go1.26.8\n")
        return CompletedCommand(0, f"{self.says}\n")

    def stop(self):
        pass


@dataclass
class Site:
    """A cache, an artifact, and the commands that make it."""

    artifact: Artifact
    store: ArtifactStore
    commands: FakeCommands
    messages: list[str] = field(default_factory=list)

    def maker(self, **more):
        return ArtifactProvider(
            self.store, "build", lambda name, text: self.messages.append(text), self.commands, **more
        )

    def make(self, artifact=None, **more):
        """Make the artifact; return the record, None where it is there."""
        return self.maker(**more).one(artifact or self.artifact)

    def build(self, steps, artifact=None, toolchain=""):
        """Make an artifact of these steps; return its folder."""
        artifact = artifact or self.artifact
        artifact.folder.mkdir(parents=True, exist_ok=True)
        head = f"toolchain: {toolchain}\n" if toolchain else ""
        (artifact.folder / "recipe.yml").write_text(f"{head}steps:\n{steps}")
        self.make(artifact)
        return self.store.folder(artifact)

    @property
    def made(self):
        """Where its one file lies."""
        return self.store.folder(self.artifact) / next(iter(self.artifact.files))

    def is_(self, state, deep=True):
        return self.store.state(self.artifact, deep=deep) is ArtifactState[state]

    def other_recipe(self):
        with (self.artifact.folder / "recipe.yml").open("a") as recipe:
            recipe.write("# other\n")


@pytest.fixture
def artifact(tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "FOLDER", tmp_path / "data")
    recipe = tmp_path / "data/recipes/thing"
    recipe.mkdir(parents=True)
    (recipe / "recipe.yml").write_text(RECIPE)
    files = {"thing": ExpectedFile(ask=("--version",), says="thing 1.2.3")}
    return Artifact(name="thing", title="a thing", version="1.2.3", files=files)


@pytest.fixture
def commands(tmp_path):
    module = tmp_path / "module"
    module.mkdir()
    (module / "main.go").write_text("worse\n")
    (module / "main.go").chmod(0o444)
    module.chmod(0o555)
    return FakeCommands(module)


@pytest.fixture
def store(tmp_path):
    return ArtifactStore(tmp_path / "cache")


@pytest.fixture
def at(artifact, store, commands):
    return Site(artifact, store, commands)


@pytest.fixture
def packed(artifact, store, commands):
    """The same, but what is made is an archive."""
    return Site(artifact.model_copy(update={"files": {"out.tar": ExpectedFile()}}), store, commands)
