"""The wheels in clean environments, with their dependencies from the package index, outside the checkout."""

import os
import re
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "distributions/ava-client"
ACCEPTANCE = ROOT / "distributions/avadm-acceptance"
EVERY = "import pkgutil, ava; [__import__(m.name) for m in pkgutil.walk_packages(ava.__path__, 'ava.')]"


def call(*argv, cwd: Path) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AVADM_", "AVA_", "PYTHON", "ANSIBLE_"))}
    done = subprocess.run(
        [str(a) for a in argv],
        cwd=cwd,
        env={**kept, "HOME": str(cwd)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(python: str, folder: Path, *projects: Path) -> Path:
    """Build projects' wheels with pip, install them into a new environment, and return that one's bin."""
    call(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "-w",
        folder / "dist",
        *projects,
        cwd=folder,
    )
    call(python, "-m", "venv", folder / "venv", cwd=folder)
    wheels = (folder / "dist").glob("*.whl")
    call(folder / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", *wheels, cwd=folder)
    return folder / "venv/bin"


def test_avadm_from_its_wheel_gets_from_nothing_to_a_rendered_site(tmp_path):
    bin_ = environment(sys.executable, tmp_path, ROOT, ACCEPTANCE)
    call(bin_ / "pip", "check", cwd=tmp_path)
    assert not [n for n in ("mypy", "playwright", "molecule", "pytest") if (bin_ / n).exists()]
    assert "commit" in call(bin_ / "avadm", "--version", cwd=tmp_path)
    call(bin_ / "avadm", "accept", "list", cwd=tmp_path)
    flags = [
        "--name=room1",
        "--domain=room1.test",
        "--user=root",
        "--time-server=10.0.0.1",
        "--addresses=10.0.0.11-14",
    ]
    call(bin_ / "avadm", "site", "init", *flags, "--profile=lab-bookworm", cwd=tmp_path)
    site, serials = tmp_path / "site.yml", count(1)
    site.write_text(
        re.sub(r"devices: *\[\]", lambda _: f"devices: [{{serial: S{next(serials)}}}]", site.read_text())
    )
    call(bin_ / "avadm", "site", "check", cwd=tmp_path)
    call(bin_ / "avadm", "site", "render", "--out", tmp_path / "inventory", cwd=tmp_path)
    call(bin_ / "avadm", "plan", "--offline", cwd=tmp_path)
    (content,) = (tmp_path / "venv/lib").glob("python*/site-packages/avadm/content")
    books = sorted((content / "playbooks").glob("*.yml"))
    argv = ["env", f"ANSIBLE_CONFIG={content / 'ansible.cfg'}", "LC_ALL=C.UTF-8", bin_ / "ansible-playbook"]
    call(*argv, "--syntax-check", "-i", tmp_path / "inventory", "-e", "member=node01", *books, cwd=tmp_path)


@pytest.mark.parametrize("version", ["3.9", "3.11", "3.13"])
def test_the_client_runs_on_users_pythons(version, tmp_path):
    folder = Path(os.environ.get("PYENV_ROOT", "/root/.pyenv")) / "versions"
    found = sorted(folder.glob(f"{version}.*/bin/python")) if folder.is_dir() else []
    python = str(found[0]) if found else shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"no Python {version} here")
    bin_ = environment(python, tmp_path, CLIENT)
    assert "workbench" in call(bin_ / "ava", "--help", cwd=tmp_path)
    call(bin_ / "python", "-c", EVERY, cwd=tmp_path)
    assert not list((tmp_path / "venv/lib").glob("python*/site-packages/fastapi"))
