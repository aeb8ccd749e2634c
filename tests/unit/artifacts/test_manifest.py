import pytest

from avadm.artifacts import recipe
from avadm.artifacts.manifest import manifest, named
from avadm.artifacts.node_archives import ours
from avadm.components.catalog import PHASES
from tests.unit.fakes.errors import refused
from tests.unit.fakes.roles import ROOT


def test_every_recipe_makes_every_file_of_its_artifact_and_pins_its_modules() -> None:
    for artifact in manifest().values():
        steps = [s.action for s in recipe.load(artifact.folder).steps]
        made = {s.output for s in steps if isinstance(s, recipe.Build | recipe.Archive | recipe.Image)}
        made |= {s.to for s in steps if isinstance(s, recipe.Take)} & set(artifact.files)
        made |= {name for s in steps if isinstance(s, recipe.Npm) for name in s.files.values()}
        assert made == set(artifact.files), artifact.name
        assert all(s.sum.startswith("h1:") for s in steps if isinstance(s, recipe.Module)), artifact.name


def test_every_program_is_asked_its_version_and_the_answer_has_it() -> None:
    for artifact in manifest().values():
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
    for artifact in manifest().values():
        assert set(artifact.upstream) <= set(artifact.files)
        for download in artifact.upstream.values():
            assert download.url.startswith("https://")
            assert download.sha256 is None or len(bytes.fromhex(download.sha256)) == 32


def test_a_step_does_exactly_one_thing() -> None:
    with pytest.raises(ValueError, match="exactly one thing"):
        recipe.BuildStep.model_validate({"remove": {"files": "a"}, "overlay": {"source": "a", "to": "b"}})


def test_the_page_has_the_versions_of_the_manifest():
    page = ROOT / "docs/how-to/build-artifacts.md"
    first = [line.split(" | ")[0].removeprefix("| ").split() for line in page.read_text().split("\n")]
    rows = {cell[0]: cell[1] for cell in first if len(cell) == 2 and cell[0] in manifest()}
    assert {"kubernetes", "alluxio", "admission", "gpu-device-plugin"} <= rows.keys()
    assert rows == {name: manifest()[name].version for name in rows}
