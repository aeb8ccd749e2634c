"""Recipes: how an artifact is built from Go modules, jars and Debian's packages, as data (recipes/NAME/recipe.yml)."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from ruamel.yaml import YAML

from avadm.artifacts.npm import Npm as Npm


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Module(_Data):
    """Copy a published module, so that it can be changed.

    Attributes:
        name: its path.
        version: the exact version.
        sum: its checksum (``h1:…``), which is also Go's checksum database's.
        to: folder in the work folder.
        unlisted: whether that database may lack this version, so that ``sum`` alone verifies it.
    """

    name: str
    version: str
    sum: str = ""
    to: str
    unlisted: bool = False

    @model_validator(mode="after")
    def _verified(self) -> Self:
        if self.unlisted and not self.sum:
            raise ValueError(f"{self.name}: nothing verifies it")
        return self


class GoMod(_Data):
    """Give folders that are modules without a go.mod one: ``module PREFIX/FOLDER``."""

    folders: str
    prefix: str


class Remove(_Data):
    """Remove files (a pattern)."""

    files: str


class Overlay(_Data):
    """Lay a folder of the recipe over a folder of the work folder."""

    source: str
    to: str


class Replace(_Data):
    """Replace a text in a file; it must be there."""

    file: str
    old: str
    new: str


class Patch(_Data):
    """Apply the unified differences of a folder of the recipe (``*.patch``, in order of name), from ``to`` on.

    Every hunk has to fit exactly where it says (no fuzz, no offset).
    """

    source: str
    to: str


class Append(_Data):
    """Add lines to the end of a file, which has to be there."""

    file: str
    text: str


class Mode(_Data):
    """Set the mode of files (a pattern), octal."""

    files: str
    mode: str


class Archive(_Data):
    """Pack a folder as one of the artifact's files: a tar archive, the same bytes each time."""

    folder: str
    output: str


class Copy(_Data):
    """Copy a file or a folder within the work folder."""

    source: str = Field(alias="from")
    to: str


class Maven(_Data):
    """Fetch the jars of a pom, and those that they need to run, from Maven's central repository; each is checked.

    Attributes:
        pom: the recipe's pom; it names every version and that of the plug-in that copies.
        sums: the recipe's list of every jar's sha256, as sha256sum writes it.
        without: patterns of jars that are left out, where they are.
        to: folder in the work folder.
    """

    pom: str
    sums: str
    without: tuple[str, ...] = ()
    to: str


class Run(_Data):
    """Run a program; an argument that ends in ``@FILE`` gets that file's lines, with commas."""

    title: str
    argv: tuple[str, ...]
    folder: str = "."


class Build(_Data):
    """Build one of the artifact's programs.

    Attributes:
        package: the Go package.
        output: the artifact's file.
        folder: where the module is.
        cgo: whether C is compiled in, which needs ``glibc``; all else is static.
        glibc: the oldest C library that the program runs with; zig compiles and links against that one's symbols.
        tags: build tags.
        ldflags: flags of the linker beside ``-s -w``.
    """

    package: str
    output: str
    folder: str = "."
    cgo: bool = False
    glibc: str = ""
    tags: str = ""
    ldflags: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _linked(self) -> Build:
        if self.cgo != bool(self.glibc):
            raise ValueError("cgo and glibc come together")
        return self


class Test(_Data):
    """Run the Go tests that the recipe has put there; they have to pass, or there is no artifact.

    Attributes:
        packages: whose tests.
        folder: where the module is.
        glibc: as of Build; with the same one what both compile is compiled once.
    """

    packages: tuple[str, ...]
    folder: str = "."
    glibc: str = ""


class Debian(_Data):
    """Make a small Debian system (mmdebstrap, variant minbase) as a tar archive.

    Attributes:
        release: code name.
        packages: what is installed beside the least.
        commands: run in the system at the end, by a shell.
        output: file in the work folder.
    """

    release: str
    packages: tuple[str, ...]
    commands: tuple[str, ...] = ()
    output: str


class Take(_Data):
    """Take a file of another artifact, which the manifest says is needed.

    Attributes:
        artifact: the other artifact.
        file: its file.
        member: of a container image the one file of its system that is taken; the whole archive where "".
        to: one of the artifact's files, else a file in the work folder.
    """

    artifact: str
    file: str
    member: str = ""
    to: str


class Wheels(_Data):
    """Fetch Python packages as published wheels, each of the version and checksum of the recipe's list.

    Attributes:
        list: written by ``python -m avadm.artifacts.wheels``; one without all pins of the project is refused.
        project: pyproject.toml that it is made from, relative to the checkout.
        python: as ``3.11``: that they run with; this machine needs the same, which compiles them.
        root: folder in the work folder that becomes the container's root; ``to`` is below it.
        to: folder in the work folder.
    """

    list: str
    project: str
    python: str
    root: str
    to: str


class Source(_Data):
    """Copy one of the artifact's sources, a folder of the checkout, and compile what is Python.

    Attributes:
        folder: relative to the checkout; one of the manifest's ``sources``.
        python, root, to: as of Wheels.
    """

    folder: str
    python: str
    root: str
    to: str


class Pack(_Data):
    """Pack a project of the checkout as a Python wheel, the same bytes each time; nothing is fetched.

    Attributes:
        project: folder with a pyproject.toml that hatchling builds; one of the manifest's ``sources``, or below one.
        to: folder in the work folder for the wheel.
    """

    project: str
    to: str


class Image(_Data):
    """Write a container image as one of the artifact's files.

    Attributes:
        name: ``NAME:TAG`` that an engine gives it; ``{version}`` in it is the artifact's.
        base: image in the work folder whose layers are below; none where "".
        layers: tar archives and folders in the work folder, the lowest first.
        entrypoint: what every container of it runs.
        command: its arguments, or what is run where there is no entry point.
        env: environment of its containers; ``{version}`` in a value is the artifact's.
        output: the artifact's file.
    """

    name: str
    base: str = ""
    layers: tuple[str, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: dict[str, str] = {}
    output: str


class BuildStep(_Data):
    """One step: exactly one of these."""

    module: Module | None = None
    gomod: GoMod | None = None
    remove: Remove | None = None
    overlay: Overlay | None = None
    replace: Replace | None = None
    patch: Patch | None = None
    append: Append | None = None
    mode: Mode | None = None
    archive: Archive | None = None
    maven: Maven | None = None
    npm: Npm | None = None
    copy_: Copy | None = Field(default=None, alias="copy")
    run: Run | None = None
    test: Test | None = None
    build: Build | None = None
    debian: Debian | None = None
    take: Take | None = None
    wheels: Wheels | None = None
    source: Source | None = None
    pack: Pack | None = None
    image: Image | None = None

    @property
    def action(self) -> _Data:
        """The one thing that the step does."""
        found: _Data = next(v for _, v in self if v is not None)
        return found

    @model_validator(mode="after")
    def _one(self) -> BuildStep:
        if len(self.model_fields_set) != 1:
            raise ValueError("a step does exactly one thing")
        return self


class Recipe(_Data):
    """How an artifact is built.

    Attributes:
        toolchain: the exact Go release, which another Go fetches through the module proxy; "" where Go is of no use.
        steps: in order.
    """

    toolchain: str = ""
    steps: tuple[BuildStep, ...]


def load(folder: Path) -> Recipe:
    """Return the recipe of a folder."""
    return Recipe.model_validate(YAML(typ="safe").load((folder / "recipe.yml").read_text(encoding="utf-8")))
