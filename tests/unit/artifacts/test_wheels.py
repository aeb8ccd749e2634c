"""Python packages of an image: the list has every pin, other wheels are refused, what was changed meanwhile is not built."""

import os
import sys
import tarfile

import pytest

from avadm import paths
from avadm.artifacts import images, manifest, recipe, wheels
from avadm.artifacts.commands import LocalCommands
from avadm.artifacts.manifest import Artifact, ExpectedFile
from avadm.artifacts.provide import ArtifactProvider
from avadm.artifacts.store import VERSIONS, ArtifactStore
from avadm.errors import AvadmError

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_each_list_has_every_pin_of_its_project():
    for artifact in manifest.manifest().values():
        for step in (s.action for s in recipe.load(artifact.folder).steps):
            if isinstance(step, recipe.Wheels):
                listed, project = artifact.folder / step.list, paths.home() / step.project
                assert wheels.differences(listed, project) == [], (
                    f"python -m avadm.artifacts.wheels {artifact.name}"
                )
                lines = listed.read_text().splitlines()[1:]
                assert all("==" in line and " --hash=sha256:" in line for line in lines)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("thing==1.0", []),
        ("Other_Thing==1.0", ["thing==1.0 (found none)"]),
        ("thing==1.1", ["thing==1.0 (found 1.1)"]),
    ],
)
def test_a_pin_that_the_list_has_not_is_reported(tmp_path, line, wanted):
    (tmp_path / "list").write_text(f"# head\n{line} --hash=sha256:0\n")
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["thing==1.0"]\n')
    assert wheels.differences(tmp_path / "list", tmp_path / "pyproject.toml") == wanted


def test_names_are_compared_as_pypi_does(tmp_path):
    (tmp_path / "list").write_text("prometheus-client==1 --hash=sha256:0\n")
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["Prometheus_Client[x]==1"]\n')
    assert wheels.differences(tmp_path / "list", tmp_path / "pyproject.toml") == []


def test_only_published_wheels_with_their_checksum_are_taken(tmp_path):
    argv = wheels.install("python3", "3.11", tmp_path / "list", tmp_path / "to")
    assert {"--require-hashes", "--only-binary=:all:", "--no-deps", "--abi=cp311"} <= set(argv)
    assert not [a for a in argv if a.startswith("--platform=") and "manylinux" not in a]


@pytest.fixture
def sourced(tmp_path, monkeypatch):
    """An artifact made of a folder of a checkout; returns a function that makes it, and the folder."""
    monkeypatch.setenv("AVADM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(manifest, "FOLDER", tmp_path / "data")
    source = tmp_path / "home/thing"
    (source / "part/__pycache__").mkdir(parents=True)
    (source / "part/one.py").write_text("NAMES = {'b', 'a', 'c'}\n")
    (source / "part/__pycache__/one.pyc").write_bytes(b"of another Python")
    folder = tmp_path / "data/recipes/thing"
    folder.mkdir(parents=True)
    (folder / "recipe.yml").write_text(
        "steps:\n"
        f'  - source: {{folder: thing, python: "{OWN}", root: root, to: root/usr/lib/thing}}\n'
        '  - image: {name: "x/thing:{version}", layers: [root], output: image.tar}\n'
    )

    def make(number="1", tell=lambda name, text: None):
        files = {"image.tar": ExpectedFile()}
        plain = Artifact(name="thing", title="t", version="1.0", files=files, sources=("thing",))
        artifact = manifest._whole(plain)
        store = ArtifactStore(tmp_path / f"cache{number}")
        ArtifactProvider(store, "build", tell, LocalCommands()).one(artifact)
        return artifact, store.folder(artifact) / "image.tar"

    return make, source


def test_a_version_ends_in_what_its_sources_hold(sourced):
    make, source = sourced
    artifact, image = make()
    found = images.read(image)
    assert found.name == f"x/thing:{artifact.version}"
    (source / "part/__pycache__/two.pyc").write_bytes(b"")
    assert make("2")[0].version == artifact.version
    (source / "part/one.py").write_text("NAMES = set()\n")
    assert make("3")[0].version != artifact.version


def test_the_same_sources_give_the_same_bytes_compiled(sourced):
    make, _ = sourced
    (_, one), (_, two) = make("1"), make("2")
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(images.layers(one, one.parent / "layers")[0]) as layer:
        names = layer.getnames()
    short = OWN.replace(".", "")
    assert f"usr/lib/thing/part/__pycache__/one.cpython-{short}.pyc" in names
    assert "usr/lib/thing/part/__pycache__/one.pyc" not in names


def test_old_versions_of_sources_go_and_the_last_ones_stay(sourced):
    make, source = sourced
    made = []
    for number in range(VERSIONS + 2):
        (source / "part/one.py").write_text(f"NUMBER = {number}\n")
        made.append(make()[1].parent)
        os.utime(made[-1], (number, number))
    assert [folder.is_dir() for folder in made] == [False, False, *[True] * VERSIONS]


def test_sources_that_are_changed_meanwhile_are_not_built(sourced):
    make, source = sourced

    def tell(name, text):
        if text == "copy thing":
            (source / "part/late.py").write_text("")

    with pytest.raises(AvadmError) as refused:
        make("1", tell)
    assert refused.value.findings[0].found == "it was changed meanwhile"


def test_a_file_of_an_image_is_taken_from_its_highest_layer(tmp_path):
    layers = []
    for number in (1, 2):
        path = tmp_path / f"{number}.tar"
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin/program").write_text(str(number))
        with tarfile.open(path, "w") as tar:
            tar.add(tmp_path / "bin/program", "./bin/program")
        layers.append(path)
    images.write(tmp_path / "image.tar", "x:1", layers)
    found = images.layers(tmp_path / "image.tar", tmp_path / "out")
    assert [images.member(one, "bin/program") for one in found] == [b"1", b"2"]
    assert images.member(found[0], "bin/other") is None
