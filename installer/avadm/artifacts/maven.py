"""Jars from Maven's central repository: one pinned pom, one mirror, and a list of every jar's sha256.

``python -m avadm.artifacts.maven NAME`` fetches the jars of an artifact and writes that list again, for changes of its pom.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from avadm.artifacts import proxy
from avadm.artifacts import recipe as r
from avadm.artifacts.manifest import Artifact, named
from avadm.artifacts.store import sha256

USER_SETTINGS = Path.home() / ".m2" / "settings.xml"
SUPER_POM = "org/apache/maven/model/pom-4.0.0.xml"
"""In the jar maven-model-builder: what every pom inherits, with the address of the central repository."""
SETTINGS = """<settings>
{proxies}  <mirrors>
    <mirror>
      <id>avadm-central</id>
      <mirrorOf>*</mirrorOf>
      <url>{url}</url>
    </mirror>
  </mirrors>
</settings>
"""


class MavenError(Exception):
    """Maven cannot be asked; the text is for people."""


def home(mvn: str) -> Path:
    """Return the folder of the Maven whose program this is."""
    return Path(mvn).resolve().parents[1]


def central(maven: Path, user: Path | None = None) -> str:
    """Return the address that this machine's Maven asks for the central repository.

    That is the mirror of the user's or the machine's settings.xml, or what Maven itself was made with. Poms of some artifacts
    name other repositories: with this one as the mirror of all, no one else is asked.

    Args:
        maven: Maven's folder.
        user: the user's settings; ~/.m2/settings.xml where None.

    Raises:
        MavenError: a file is not what it should be.
    """
    for path in (user or USER_SETTINGS, maven / "conf" / "settings.xml"):
        if path.is_file() and (url := _mirror(path)):
            return url
    found = sorted((maven / "lib").glob("maven-model-builder-*.jar"))
    try:
        with zipfile.ZipFile(found[0]) as jar:
            root = ET.fromstring(jar.read(SUPER_POM))  # noqa: S314 - of the Maven that runs here
    except (IndexError, KeyError, OSError, zipfile.BadZipFile, ET.ParseError) as error:
        raise MavenError(f"{maven}: no super pom in lib/maven-model-builder-*.jar ({error})") from error
    for repository in _all(root, "repository"):
        if _text(repository, "id") == "central":
            return _text(repository, "url")
    raise MavenError(f"{maven}: the super pom names no repository `central`")


def settings_of(url: str, environment: Mapping[str, str]) -> str:
    """Return settings with one mirror of all repositories, and the proxies of an environment."""
    return SETTINGS.format(url=escape(url), proxies=proxy.maven_settings(environment))


def command(settings: Path, pom: Path, target: Path) -> list[str]:
    """Return the command that copies a pom's jars, and those that they need to run, into a folder.

    The version of the plug-in is the pom's.
    """
    return [
        *("mvn", "-B", "-q", "-Dstyle.color=never", "-gs", str(settings), "-f", str(pom)),
        *("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={target}"),
    ]


def drop(folder: Path, patterns: tuple[str, ...]) -> None:
    """Remove the jars that a recipe does without, where they are."""
    for pattern in patterns:
        for path in folder.glob(pattern):
            path.unlink()


def sums(folder: Path) -> dict[str, str]:
    """Return the sha256 of each jar of a folder by name, sorted."""
    return {p.name: sha256(p) for p in sorted(folder.glob("*.jar"))}


def parse(text: str) -> dict[str, str]:
    """Return what a list in the form of sha256sum says, name to checksum; lines with ``#`` say nothing."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {name.removeprefix("*"): value for value, name in lines}


def listed(found: Mapping[str, str]) -> str:
    """Return checksums in the form of sha256sum."""
    return "".join(f"{value}  {name}\n" for name, value in sorted(found.items()))


def differences(wanted: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return what differs between the jars that a recipe lists and those that were fetched, in words."""
    messages = [f"{name} is missing" for name in sorted(wanted.keys() - found.keys())]
    messages += [f"{name} is not in the list" for name in sorted(found.keys() - wanted.keys())]
    both = sorted(wanted.keys() & found.keys())
    return messages + [f"{name} has other bytes" for name in both if wanted[name] != found[name]]


def record(artifact: Artifact) -> Path:
    """Fetch an artifact's jars and write its list of checksums; return the list's path.

    Raises:
        MavenError: there is no Maven, or it failed.
    """
    step = next(s.action for s in r.load(artifact.folder).steps if isinstance(s.action, r.Maven))
    mvn = shutil.which("mvn")
    if mvn is None:
        raise MavenError("There is no mvn here. Remedy: apt-get install maven.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings, pom, target = folder / "settings.xml", folder / "pom.xml", folder / "jars"
        settings.write_text(
            settings_of(central(home(mvn)), proxy.environment(os.environ, {})), encoding="utf-8"
        )
        shutil.copy(artifact.folder / step.pom, pom)
        done = subprocess.run(command(settings, pom, target), check=False)
        if done.returncode:
            raise MavenError(f"mvn failed: exit status {done.returncode}")
        drop(target, step.without)
        path = artifact.folder / step.sums
        path.write_text(listed(sums(target)), encoding="utf-8")
        return path


def _mirror(settings: Path) -> str:
    """Return the address of the first mirror that stands for the central repository; "" for none."""
    try:
        root = ET.parse(settings).getroot()  # noqa: S314 - this machine's own configuration
    except (OSError, ET.ParseError) as error:
        raise MavenError(f"{settings}: {error}") from error
    for mirror in _all(root, "mirror"):
        of = [part.strip() for part in _text(mirror, "mirrorOf").split(",")]
        if "!central" not in of and {"*", "external:*", "central"} & set(of):
            return _text(mirror, "url")
    return ""


def _all(root: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in root.iter() if e.tag.rpartition("}")[2] == name]


def _text(element: ET.Element, name: str) -> str:
    return next(((e.text or "").strip() for e in element if e.tag.rpartition("}")[2] == name), "")


def main() -> int:
    """Write the list of one artifact, named on the command line."""
    for artifact in named(tuple(sys.argv[1:])):
        print(f"wrote {record(artifact)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
