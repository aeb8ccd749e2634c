"""The manifest: every artifact by name, its files, and how each source has it; data in manifest.yml."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator
from ruamel.yaml import YAML

from avadm import paths
from avadm.catalogue import finding
from avadm.errors import AvadmError

FOLDER = Path(str(files("avadm.artifacts")))
"""Where manifest.yml and recipes/ lie."""
_LEFT = {".orig", ".rej", ".bak", ".swp", ".pyc"}
"""Endings of files that editors, patch and Python leave behind."""


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedFile(_Data):
    """One file of an artifact.

    Attributes:
        ask: arguments that make the program tell its version.
        says: text that must be in its answer; "" where it is no program.
    """

    ask: tuple[str, ...] = ()
    says: str = ""


class Download(_Data):
    """Where upstream publishes a file.

    Attributes:
        url: the address.
        sha256: the publisher's checksum; None where it was never read: a site names it then.
        member: the file inside of the archive that the address has; "" where it is the file itself.
    """

    url: str
    sha256: str | None = None
    member: str = ""


class Artifact(_Data):
    """One artifact.

    Attributes:
        name: what a user types.
        title: what it is, for people.
        version: the version.
        files: file name to what is known of it.
        needs: artifacts that are there before it is built.
        upstream: file name to where upstream publishes it.
        recipe: folder of the recipe, absolute or relative to the checkout; recipes/NAME here where "".
        sources: folders of the checkout that it is made of; its version ends in a digest of what they hold.
        program: program whose version, as a profile has it, chooses among several versions of the artifact.
        others: further versions, which profiles choose; what one does not say otherwise is as above.
        further: whether it is one of these.
    """

    name: str
    title: str
    version: str
    files: dict[str, ExpectedFile]
    needs: tuple[str, ...] = ()
    upstream: dict[str, Download] = {}
    recipe: str = ""
    sources: tuple[str, ...] = ()
    program: str = ""
    others: tuple[Artifact, ...] = ()
    further: bool = False

    @model_validator(mode="before")
    @classmethod
    def _versions(cls, data: Any) -> Any:
        """Give each further version what it shares with the first, and a recipe of its own."""
        if not isinstance(data, dict) or not isinstance(data.get("others"), dict):
            return data
        shared = {key: value for key, value in data.items() if key not in ("others", "recipe")}
        others = [
            {**shared, "version": version, "recipe": _recipe(data["name"], version), "further": True, **own}
            for version, own in data["others"].items()
        ]
        return {**data, "others": others}

    @model_validator(mode="after")
    def _chosen(self) -> Self:
        if self.others and not self.program:
            raise ValueError(f"{self.name}: no program chooses among its versions")
        return self

    @property
    def folder(self) -> Path:
        """The folder of the recipe that builds it."""
        if not self.recipe:
            return FOLDER / "recipes" / self.name
        return paths.home() / self.recipe

    @property
    def label(self) -> str:
        """The name; NAME=VERSION of a further version, as ``named`` takes it."""
        return f"{self.name}={self.version}" if self.further else self.name

    def of(self, versions: Mapping[str, str]) -> Artifact | None:
        """Return the version of the artifact that a profile's versions choose; None where there is no such one.

        Args:
            versions: program to the prefix of its version; the first version is chosen where they do not name the program.
        """
        prefix = versions.get(self.program) if self.program else None
        if prefix is None:
            return self
        return next((one for one in (self, *self.others) if begins(one.version, prefix)), None)

    def digest(self) -> str:
        """Return 16 hex digits that change with anything of which the result of a build depends."""
        digest = hashlib.sha256(f"{self.version}\0{sorted(self.files)}\0".encode())
        for path in sorted(p for p in self.folder.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(self.folder)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        for needed in named(self.needs):
            digest.update(needed.digest().encode())
        return digest.hexdigest()[:16]


@cache
def manifest() -> dict[str, Artifact]:
    """Return every artifact by name, in the file's order."""
    data = YAML(typ="safe").load((FOLDER / "manifest.yml").read_text(encoding="utf-8"))
    return {name: _whole(Artifact.model_validate({"name": name, **entry})) for name, entry in data.items()}


def _recipe(name: str, version: str) -> str:
    """Return the folder of a further version's recipe, absolute."""
    return str(FOLDER / "recipes" / f"{name}-{version}")


def begins(version: str, prefix: str) -> bool:
    """Return whether a version is the one of a prefix: 1.10.13 is 1.10.13, 1.10 and 1.10., and not 1.1."""
    return version == prefix or version.startswith(f"{prefix.rstrip('.')}.")


def every() -> list[Artifact]:
    """Return all artifacts in all versions, in the file's order."""
    return [one for artifact in manifest().values() for one in (artifact, *artifact.others)]


def _whole(artifact: Artifact) -> Artifact:
    """Return an artifact with its whole version."""
    if not artifact.sources:
        return artifact
    return artifact.model_copy(update={"version": f"{artifact.version}-{content(artifact.sources)}"})


def content(sources: tuple[str, ...]) -> str:
    """Return 12 hex digits that change with any source file of these folders of the checkout."""
    digest = hashlib.sha256()
    for name in sources:
        folder = paths.home() / name
        for path in files_of(folder):
            digest.update(f"{name}/{path.relative_to(folder)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def files_of(folder: Path) -> list[Path]:
    """Return the source files of a folder, without what builds, editors and tools leave behind.

    Of a Python package these are its modules, and everything in folders that are packages themselves.
    """
    found = [p for p in folder.rglob("*") if p.is_file() and not _made(p.relative_to(folder))]
    if (folder / "__init__.py").is_file():
        found = [p for p in found if _installed(p.relative_to(folder), folder)]
    return sorted(found)


def _made(path: Path) -> bool:
    """Return whether a file of a source folder was made from the others there."""
    return path.suffix in _LEFT or any(
        part == "__pycache__" or part.endswith((".egg-info", "~")) or part.startswith(".")
        for part in path.parts
    )


def _installed(path: Path, package: Path) -> bool:
    """Return whether a file of a package's folder is the package's: ``build`` and ``dist`` have no ``__init__.py``."""
    if len(path.parts) == 1:
        return path.suffix == ".py" or path.name == "py.typed"
    return (package / path.parts[0] / "__init__.py").is_file()


def named(names: Sequence[str], versions: Mapping[str, str] | None = None) -> list[Artifact]:
    """Return the artifacts of these names.

    Args:
        names: of artifacts; NAME=VERSION for another version than the profile's.
        versions: a profile's; of an artifact with several versions it chooses one. Without it the first is returned.

    Raises:
        AvadmError: for every name that is none, with the nearest one, and every version that the manifest has not.
    """
    if not names:
        return []
    known = manifest()
    findings = []
    chosen: list[Artifact] = []
    for text in names:
        name, _, version = text.partition("=")
        if name in known:
            artifact = known[name]
            if version:
                found = next((a for a in (artifact, *artifact.others) if a.version == version), None)
            else:
                found = artifact.of(versions or {})
            if found is not None:
                chosen += [found] if found not in chosen else []
                continue
            findings.append(
                finding(
                    "unknown-artifact-version",
                    where="command line" if version else f"versions.{artifact.program} of the profile",
                    found=version or (versions or {}).get(artifact.program, ""),
                    wanted=", ".join(a.version for a in (artifact, *artifact.others)),
                    name=name,
                )
            )
            continue
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        findings.append(
            finding("unknown-artifact", "command line", name, ", ".join(known), name=name, guess=guess)
        )
    if findings:
        raise AvadmError(findings)
    return chosen
