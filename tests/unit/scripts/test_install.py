"""scripts/install with an avadm that only notes what it was asked."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[3] / "scripts/install"


@pytest.fixture
def install(tmp_path):
    """Run the script; ``build`` is what `avadm artifacts build` does, ``roles`` what the lab's nodes have."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(INSTALL, tmp_path / "scripts/install")
    (tmp_path / "scripts/go").write_text("#!/bin/sh\n")
    (tmp_path / "scripts/go").chmod(0o755)
    avadm = tmp_path / ".venv/bin/avadm"
    avadm.parent.mkdir(parents=True)

    def run(
        build: str, roles: str = "master", wait: int = 0
    ) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        listed = f"""[ "$1" = lab ] && {{ echo '{{"roles": ["{roles}"]}}'; exit; }}"""
        avadm.write_text(f'#!/bin/sh\n{listed}\n[ "$1" = apply ] || {{ {build}; }}\necho "$*" >> asked\n')
        avadm.chmod(0o755)
        done = subprocess.run(
            [tmp_path / "scripts/install", tmp_path / "log"],
            env=os.environ | {"AVADM_BUILD_WAIT": str(wait)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done, (tmp_path / "asked").read_text().splitlines()

    return run


def test_storage_does_not_wait_for_builds_and_the_rest_does(install):
    done, asked = install("sleep 1; echo built")
    assert done.returncode == 0
    assert asked == ["apply base ceph cephfs rbd monitoring", "artifacts build", "apply --yes"]
    assert "Waiting for artifacts" in done.stdout


def test_with_nothing_to_build_all_phases_take_their_turn_in_one_run(install):
    done, asked = install("echo built", wait=15)
    assert done.returncode == 0
    assert asked == ["artifacts build", "apply --yes"]


def test_a_failed_build_ends_it_with_what_it_shown(install):
    done, asked = install("sleep 1; echo no way out; exit 2")
    assert done.returncode == 2
    assert "no way out" in done.stderr
    assert asked == ["apply base ceph cephfs rbd monitoring"]


def test_a_lab_without_kubernetes_builds_nothing(install):
    done, asked = install("exit 2", roles="mon")
    assert done.returncode == 0
    assert asked == ["apply --yes"]
