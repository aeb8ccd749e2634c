import pytest

from avadm.artifacts import recipe
from avadm.artifacts.manifest import Artifact, ExpectedFile, every, manifest, named
from avadm.artifacts.node_archives import ours
from avadm.components.catalog import PHASES
from avadm.site import profile as profiles
from tests.unit.fakes.errors import refused
from tests.unit.fakes.roles import ROOT


def test_every_recipe_makes_every_file_of_its_artifact_and_pins_its_modules() -> None:
    for artifact in every():
        steps = [s.action for s in recipe.load(artifact.folder).steps]
        made = {s.output for s in steps if isinstance(s, recipe.Build | recipe.Archive | recipe.Image)}
        made |= {s.to for s in steps if isinstance(s, recipe.Take)} & set(artifact.files)
        made |= {name for s in steps if isinstance(s, recipe.Npm) for name in s.files.values()}
        assert made == set(artifact.files), artifact.name
        assert all(s.sum.startswith("h1:") for s in steps if isinstance(s, recipe.Module)), artifact.name


def test_every_program_is_asked_its_version_and_the_answer_has_it() -> None:
    for artifact in every():
        programs = [w for name, w in artifact.files.items() if not name.endswith((".tar", ".js", ".css"))]
        assert all(artifact.version in w.says for w in programs), artifact.name


def test_phases_name_artifacts_that_exist() -> None:
    assert {n for p in PHASES for n in p.artifacts if not ours(n)} <= set(manifest())


def test_unknown_names_come_together_with_the_nearest() -> None:
    assert [f.what for f in refused(named, ("kubernets", "zzz"))] == [
        "There is no artifact 'kubernets'. Did you mean 'kubernetes'?",
        "There is no artifact 'zzz'.",
    ]


def test_a_checksum_is_whole_or_not_there() -> None:
    for artifact in every():
        assert set(artifact.upstream) <= set(artifact.files)
        for download in artifact.upstream.values():
            assert download.url.startswith("https://")
            assert download.sha256 is None or len(bytes.fromhex(download.sha256)) == 32


def test_a_step_does_exactly_one_thing() -> None:
    with pytest.raises(ValueError, match="exactly one thing"):
        recipe.BuildStep.model_validate({"remove": {"files": "a"}, "overlay": {"source": "a", "to": "b"}})


def test_a_module_that_nothing_verifies_is_no_recipe() -> None:
    module = {"name": "m.test/m", "version": "v0.0.1", "to": "src", "unlisted": True}
    with pytest.raises(ValueError, match="nothing verifies it"):
        recipe.Module.model_validate(module)
    assert recipe.Module.model_validate({**module, "sum": "h1:x"}).unlisted


def test_the_page_has_the_versions_of_the_manifest():
    page = ROOT / "docs/how-to/build-artifacts.md"
    first = [line.split(" | ")[0].removeprefix("| ").split() for line in page.read_text().split("\n")]
    rows = [tuple(cell) for cell in first if len(cell) == 2 and cell[0] in manifest()]
    assert {"kubernetes", "alluxio", "admission", "gpu-device-plugin"} <= {name for name, _ in rows}
    assert sorted(rows) == sorted((a.name, a.version) for a in every() if a.name in dict(rows))


def two_versions() -> Artifact:
    return Artifact.model_validate(
        {
            "name": "thing",
            "title": "a thing",
            "version": "1.9.11",
            "program": "thingd",
            "files": {"thing": {"says": "1.9.11"}, "more": {}},
            "others": {"1.10.13": {"files": {"thing": {"says": "1.10.13"}}}},
        }
    )


@pytest.mark.parametrize(
    ("prefix", "version"),
    [("1.9.11", "1.9.11"), ("1.9.", "1.9.11"), ("1.10.13", "1.10.13"), ("1.10", "1.10.13")],
)
def test_a_profile_chooses_a_version(prefix: str, version: str) -> None:
    chosen = two_versions().of({"thingd": prefix, "other": "3"})
    assert chosen is not None and chosen.version == version


def test_a_profile_without_the_program_gets_the_first_version() -> None:
    chosen = two_versions().of({"other": "3"})
    assert chosen is not None and chosen.version == "1.9.11"


@pytest.mark.parametrize("prefix", ["1.1", "1.11.", "2"])
def test_a_version_without_a_recipe_is_not_chosen(prefix: str) -> None:
    assert two_versions().of({"thingd": prefix}) is None


def test_a_further_version_has_its_own_files_recipe_and_digest() -> None:
    first = two_versions()
    (other,) = first.others
    assert (first.label, other.label) == ("thing", "thing=1.10.13")
    assert other.files == {"thing": ExpectedFile(says="1.10.13")}
    assert other.folder.name == "thing-1.10.13" and other.title == "a thing"
    assert first.digest() != other.digest()
    alone = first.model_copy(update={"others": ()})
    assert first.digest() == alone.digest(), "a further version makes what is cached stale"


def test_versions_need_a_program_that_chooses() -> None:
    with pytest.raises(ValueError, match="no program chooses"):
        Artifact.model_validate({"name": "x", "title": "", "version": "1", "files": {}, "others": {"2": {}}})


def test_names_choose_versions_and_unknown_ones_are_refused_together() -> None:
    versions = {"kube-apiserver": "1.10.13"}
    assert [a.version for a in named(("kubernetes", "pause"))] == ["1.9.11", "1"]
    assert [a.version for a in named(("kubernetes", "pause"), versions)] == ["1.10.13", "1"]
    assert [a.version for a in named(("kubernetes=1.9.11",), versions)] == ["1.9.11"]
    first, second = refused(named, ("kubernetes=1.8.0", "kubernetes"), {"kube-apiserver": "1.11."})
    assert (first.found, first.wanted, first.where) == ("1.8.0", "1.9.11, 1.10.13", "command line")
    assert (second.found, second.where) == ("1.11.", "versions.kube-apiserver of the profile")


def test_every_shipped_profile_chooses_artifacts_that_exist() -> None:
    for name in profiles.names():
        assert named(tuple(manifest()), profiles.load(name).versions)
