"""Go tests of the programs that are our own, with the Go release of their recipes."""

import os
import subprocess

import pytest

from avadm.artifacts import recipe
from avadm.artifacts.golang import environment
from avadm.artifacts.manifest import manifest
from avadm_lab.docker import gpus

TESTED = [a for a in (*manifest().values(), gpus.ARTIFACT) if list(a.folder.glob("*_test.go"))]


def test_our_own_programs_are_among_them():
    assert {a.name for a in TESTED} == {"admission", "gpu-device-plugin", "gpu-stand-ins"}


@pytest.mark.parametrize("artifact", TESTED, ids=lambda a: a.name)
def test_a_program_passes_its_own_tests(artifact):
    toolchain = recipe.load(artifact.folder).toolchain
    # As it is built, so that the build and this share what is compiled.
    env = {**os.environ, **environment(toolchain)}

    def go(*argv):
        argv = ("go", *argv)
        return subprocess.run(
            argv, cwd=artifact.folder, env=env, capture_output=True, text=True, check=False, timeout=300
        )

    try:
        there = go("env", "GOVERSION")
    except FileNotFoundError:
        pytest.skip("there is no Go: scripts/go")
    if there.returncode:
        pytest.skip(f"{toolchain} is not available: {there.stderr.strip()}")
    done = go("test", ".")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("artifact", TESTED, ids=lambda a: a.name)
def test_it_needs_nothing_but_gos_own_library(artifact):
    assert "require" not in (artifact.folder / "go.mod").read_text()
    assert not (artifact.folder / "go.sum").exists()
