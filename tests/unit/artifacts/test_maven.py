"""Jars: where they are asked for, and that none is taken that the recipe does not list."""

import shutil
import zipfile
from pathlib import Path

import pytest

from avadm.artifacts import maven, recipe
from avadm.artifacts.commands import CompletedCommand
from avadm.artifacts.manifest import manifest
from tests.unit.artifacts.conftest import FakeCommands
from tests.unit.fakes.errors import refused

MIRROR = "<settings xmlns='x'><mirrors><mirror><id>a</id><mirrorOf>{of}</mirrorOf><url>https://{of_url}/m</url></mirror></mirrors></settings>"
SUPER = "<project xmlns='http://x'><repositories><repository><id>central</id><url>https://own.test/c</url></repository></repositories></project>"
A, B = b"jar a", b"jar b"


def home(tmp_path: Path, conf: str = "") -> Path:
    maven_home = tmp_path / "maven"
    for name in ("lib", "conf", "bin"):
        (maven_home / name).mkdir(parents=True)
    with zipfile.ZipFile(maven_home / "lib/maven-model-builder-3.x.jar", "w") as jar:
        jar.writestr(maven.SUPER_POM, SUPER)
    if conf:
        (maven_home / "conf/settings.xml").write_text(conf)
    return maven_home


@pytest.mark.parametrize(
    ("of", "taken"),
    [("*", True), ("central", True), ("external:*", True), ("*,!central", False), ("external:http:*", False)],
)
def test_the_machine_s_own_mirror_of_the_central_repository_is_taken(of, taken, tmp_path):
    own = home(tmp_path, MIRROR.format(of=of, of_url="mirror.test"))
    found = maven.central(own, tmp_path / "none")
    assert found == ("https://mirror.test/m" if taken else "https://own.test/c")


def test_the_user_s_settings_come_before_the_machine_s(tmp_path: Path) -> None:
    user = tmp_path / "settings.xml"
    user.write_text(MIRROR.format(of="central", of_url="user.test"))
    own = home(tmp_path, MIRROR.format(of="*", of_url="machine.test"))
    assert maven.central(own, user) == "https://user.test/m"


def test_a_maven_without_a_super_pom_is_reported(tmp_path: Path) -> None:
    with pytest.raises(maven.MavenError, match="super pom"):
        maven.central(tmp_path, tmp_path / "none")


def test_lists_are_read_as_they_are_written() -> None:
    found = {"b.jar": "2" * 64, "a.jar": "1" * 64}
    text = maven.listed(found)
    assert text.splitlines()[0].endswith("  a.jar")
    assert maven.parse(f"# words\n\n{text}") == found


class Fetching(FakeCommands):
    """Plays mvn: it brings two jars, and one that the recipe does without."""

    def run(self, argv, **more):
        if argv[0] != "mvn":
            return super().run(argv, **more)
        target = Path(next(a.partition("=")[2] for a in argv if a.startswith("-DoutputDirectory=")))
        target.mkdir(parents=True)
        for name, content in (("a.jar", A), ("b.jar", B), ("old-1.19.jar", b"old")):
            (target / name).write_bytes(content)
        self.settings = Path(argv[argv.index("-gs") + 1]).read_text()
        return CompletedCommand(0)


STEPS = (
    "  - maven: {pom: pom.xml, sums: jars.sha256, without: [old-*.jar, none-*.jar], to: tree/jars}\n"
    "  - archive: {folder: tree, output: out.tar}\n"
)


@pytest.fixture
def at(packed, tmp_path, monkeypatch):
    own = home(tmp_path)
    (own / "bin/mvn").write_text("")
    monkeypatch.setattr(shutil, "which", lambda name: str(own / "bin/mvn"))
    monkeypatch.setattr(maven, "USER_SETTINGS", tmp_path / "none")
    (packed.artifact.folder / "pom.xml").write_text("<project/>")
    packed.commands = Fetching(tmp_path)
    return packed


def test_the_jars_of_the_list_are_packed_and_one_mirror_stands_for_all(at, tmp_path):
    (tmp_path / "a.jar").write_bytes(A)
    (tmp_path / "b.jar").write_bytes(B)
    (at.artifact.folder / "jars.sha256").write_text(maven.listed(maven.sums(tmp_path)))
    at.build(STEPS)
    assert at.is_("PRESENT")
    settings = at.commands.settings
    assert settings.count("<mirrorOf>*</mirrorOf>") == 1
    assert "https://own.test/c" in settings


LEFT_OUT = ("<artifactId>miredot-annotations<", "<groupId>*</groupId><artifactId>*<")
"""What is not available of what Alluxio's poms name, or all that one of them names."""
OTHERS = "".join(f"{n * 64}  {name}.jar\n" for n, name in (("1", "a"), ("2", "b"), ("3", "c")))


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("", "a.jar is not in the list; b.jar is not in the list"),
        (OTHERS, "c.jar is missing; a.jar has other bytes"),
    ],
)
def test_other_jars_than_the_list_s_are_refused_and_reported(at, listed, message):
    (at.artifact.folder / "jars.sha256").write_text(listed)
    assert message in refused(at.build, STEPS)[0].found
    assert at.is_("ABSENT", deep=False)
    assert "  a.jar" in at.store.log(at.artifact).read_text()


def test_every_pom_pins_every_version_and_leaves_out_what_is_unavailable() -> None:
    for artifact in manifest().values():
        for step in (s.action for s in recipe.load(artifact.folder).steps):
            if isinstance(step, recipe.Maven):
                pom = (artifact.folder / step.pom).read_text()
                assert f".version>{artifact.version}</" in pom
                assert pom.count("<groupId>org.alluxio<") == sum(pom.count(left) for left in LEFT_OUT)
                assert pom.count("<dependency>") + 2 == pom.count("<version>")
                assert "<repositor" not in pom
