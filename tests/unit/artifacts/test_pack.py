"""The step that packs a project of the checkout as a wheel."""

import subprocess
import zipfile

import pytest

from avadm.artifacts import python_steps
from avadm.artifacts import recipe as r
from avadm.artifacts.manifest import manifest
from avadm.errors import AvadmError
from avadm.findings import Finding


@pytest.fixture
def packed(tmp_path):
    """Return a function: pack the client into a folder, as the recipe of AVA's image does."""
    artifact = manifest()["ava-image"]
    (step,) = [s.action for s in r.load(artifact.folder).steps if isinstance(s.action, r.Pack)]

    def run(title, argv, cwd, env):
        return subprocess.run(argv, cwd=cwd, check=True, capture_output=True)

    def failed(title, found, wanted):
        return AvadmError(Finding("step", title, found=found, wanted=wanted))

    def pack(name):
        steps = python_steps.PythonSteps(artifact, tmp_path / name, lambda _: None, run, failed)
        steps.do(step)
        (wheel,) = (tmp_path / name / step.to).iterdir()
        return wheel

    return pack


def test_the_image_has_a_wheel_of_the_client_with_the_same_bytes_each_time(packed):
    first, second = packed("first"), packed("second")
    assert first.read_bytes() == second.read_bytes()
    assert "ava/cli/main.py" in zipfile.ZipFile(first).namelist()


def test_without_hatchling_the_remedy_is_the_extra(packed, monkeypatch):
    monkeypatch.setattr(python_steps, "find_spec", lambda _: None)
    with pytest.raises(AvadmError) as caught:
        packed("none")
    assert "avadm[build]" in caught.value.findings[0].wanted


def test_a_change_of_the_client_is_another_version_of_the_image():
    assert "distributions/ava-client" in manifest()["ava-image"].sources
