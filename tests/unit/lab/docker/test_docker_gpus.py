"""Stand-ins for GPUs: built once, put on the nodes that lack them."""

from pathlib import Path

import pytest

from avadm.artifacts import provide
from avadm.artifacts.store import ArtifactState, ArtifactStore
from avadm.findings import Finding
from avadm_lab.docker import emulation, gpus
from avadm_lab.docker.client import Docker
from avadm_lab.layout import Config, nodes
from tests.unit.lab.fakes import FakeProc, Reporter

SOURCE = Path(gpus.__file__).parents[1] / "gpu"
NODES = {n.name: n for n in nodes(Config(masters=1))}


def test_the_recipe_lies_with_the_lab():
    assert gpus.ARTIFACT.folder == SOURCE
    assert (SOURCE / "recipe.yml").is_file()


def test_the_program_knows_every_name_that_it_is_linked_to():
    main = (SOURCE / "main.go").read_text()
    assert [name for name in gpus.NAMES if f'"{name}":' not in main] == []


def test_only_gpu_nodes_have_its_names_and_the_drivers_unit():
    assert set(gpus.LINKS) <= set(emulation.links(NODES["comp2"]))
    assert not set(gpus.LINKS) & set(emulation.links(NODES["comp1"]))
    units = {path for path, _, _ in emulation.contents(Config(masters=1), NODES["comp2"])}
    assert "etc/systemd/system/nvidia-persistenced.service" in units
    assert units - {path for path, _, _ in emulation.contents(Config(masters=1), NODES["comp1"])} == {
        "etc/systemd/system/nvidia-persistenced.service"
    }


def test_a_build_that_fails_is_noted_and_the_lab_goes_on(tmp_path, monkeypatch):
    lack = Finding("no-go", "There is no Go.", remedy="Install one.")
    monkeypatch.setattr(provide.ArtifactProvider, "make", lambda self, artifacts, jobs: ([], [lack]))
    reply = Reporter()
    assert gpus.program(reply, ArtifactStore(tmp_path)) is None
    assert "There is no Go." in reply.notes[0]
    assert "Install one." in reply.notes[0]


def test_what_was_built_is_used_again(tmp_path, monkeypatch):
    store, asked = ArtifactStore(tmp_path), []

    def built(self, artifacts, jobs):
        asked.append(artifacts)
        folder = store.folder(gpus.ARTIFACT)
        folder.mkdir(parents=True)
        (folder / "gpu-stand-in").write_text("x")
        return [], []

    monkeypatch.setattr(provide.ArtifactProvider, "make", built)
    monkeypatch.setattr(
        ArtifactStore,
        "state",
        lambda self, a, deep=False: ArtifactState.PRESENT if asked else ArtifactState.ABSENT,
    )
    assert gpus.program(Reporter(), store) == store.folder(gpus.ARTIFACT) / "gpu-stand-in"
    assert gpus.program(Reporter(), store) == store.folder(gpus.ARTIFACT) / "gpu-stand-in"
    assert len(asked) == 1


@pytest.mark.parametrize("there", [True, False])
def test_the_program_is_put_only_where_it_is_missing_or_another(there, tmp_path):
    source = tmp_path / "gpu-stand-in"
    source.write_text("program")
    about = source.stat()
    proc = FakeProc()
    proc.on(r"stat -c", f"{about.st_size} {int(about.st_mtime)}\n" if there else "", rc=0 if there else 1)
    assert gpus.supply(Docker(proc), "avadm-lab-comp2", source) is not there
    assert bool(proc.ran(f"docker cp -a {source} avadm-lab-comp2:{gpus.PROGRAM}")) is not there
