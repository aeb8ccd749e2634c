"""The wheels: what is in them, what they declare, and that an installed avadm needs no checkout."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from avadm.artifacts.manifest import content

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "distributions/ava-client"
ADDED = {
    ROOT / "distributions/avadm-lab": ("avadm_lab",),
    ROOT / "distributions/avadm-acceptance": ("avadm_acceptance", "avadm_validation"),
}
"""Distributions that add a verb to avadm, with their packages."""
# Import name to distribution, where they differ.
NAMES = {
    "ahocorasick": "pyahocorasick",
    "ansible": "ansible-core",
    "elftools": "pyelftools",
    "prometheus_client": "prometheus-client",
    "ruamel": "ruamel-yaml",
    "yaml": "pyyaml",
}
# Parts of pydantic that come with it and with nothing else.
WITH_PYDANTIC = {"annotated_types", "pydantic_core"}
NODES_PYTHON = ("tools", "files")
"""Folders of scripts that run elsewhere, not in avadm's environment."""


def built(project: Path, out: Path) -> Path:
    """Build a project's wheel as pip does, and return its path; -P: ava has a package `operator`, as Python has."""
    argv = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(argv, cwd=project, capture_output=True, check=True)
    name = tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"].replace("-", "_")
    (wheel,) = out.glob(f"{name}-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return the wheels of avadm, of what adds verbs to it, of the platform and of its client."""
    out = tmp_path_factory.mktemp("wheels")
    return {p.name: built(p, out) for p in (ROOT, *ADDED, ROOT / "ava", CLIENT)}


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """Install wheels without their dependencies, which are this environment's; return the new environment's bin."""

    @cache
    def install(*wheels: Path) -> Path:
        folder = tmp_path_factory.mktemp("venv")
        venv.create(folder, with_pip=False)
        lib = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        argv = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(folder / "bin/python"),
            "install",
            "--quiet",
            "--no-deps",
        ]
        subprocess.run([*argv, "--no-index", "--no-compile", *map(str, wheels)], check=True)
        # A folder that is named in a .pth has its own .pth left alone: the editable install is not seen.
        (lib / "dependencies.pth").write_text(f"{sysconfig.get_paths()['purelib']}\n")
        (folder / "bin/ansible-playbook").symlink_to(Path(sys.executable).parent / "ansible-playbook")
        return folder / "bin"

    return install


def call(*argv, cwd: Path, code: int = 0, **env: str) -> str:
    """Run a command outside the checkout, and return what it prints; of one that is to fail, its errors too."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AVADM_", "AVA_", "PYTHON", "ANSIBLE_"))}
    done = subprocess.run(
        [str(a) for a in argv],
        cwd=cwd,
        env={**kept, "HOME": str(cwd), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + (done.stderr if code else "")


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.slow
def test_an_installed_avadm_needs_no_checkout(wheels, installed, tmp_path):
    bin_ = installed(wheels[ROOT.name])
    avadm = bin_ / "avadm"
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"commit {commit.stdout.strip()}" in call(avadm, "--version", cwd=tmp_path)
    flags = [
        "--name=room1",
        "--domain=room1.test",
        "--user=root",
        "--time-server=10.0.0.1",
        "--addresses=10.0.0.11-14",
    ]
    call(avadm, "site", "init", *flags, "--profile=lab-bookworm", cwd=tmp_path)
    site, serials = tmp_path / "site.yml", count(1)
    site.write_text(
        re.sub(r"devices: *\[\]", lambda _: f"devices: [{{serial: S{next(serials)}}}]", site.read_text())
    )
    call(avadm, "site", "check", cwd=tmp_path)
    call(avadm, "site", "render", "--out", tmp_path / "inventory", cwd=tmp_path)
    assert '"base"' in call(avadm, "plan", "--offline", "--json", cwd=tmp_path)
    listed = call(avadm, "--help", cwd=tmp_path)
    assert " lab " not in listed
    assert " accept " not in re.sub(r"accept run", "", listed)
    assert "avadm lab up" not in listed
    assert not [n for n in names(wheels[ROOT.name]) if re.search(r"avadm_(lab|acceptance|validation)", n)]
    for verb, distribution in (("lab", "avadm-lab"), ("accept", "avadm-acceptance")):
        assert f"Install the distribution {distribution}" in call(avadm, verb, cwd=tmp_path, code=2)


@pytest.mark.slow
def test_a_distribution_of_its_own_adds_its_verb(wheels, installed, tmp_path):
    avadm = installed(wheels[ROOT.name], *(wheels[p.name] for p in ADDED)) / "avadm"
    assert "A-SC1" in call(avadm, "accept", "list", "--json", cwd=tmp_path)
    assert "avadm lab up" in call(avadm, "--help", cwd=tmp_path)
    assert str(tmp_path / ".avadm-lab") in call(avadm, "lab", "list", cwd=tmp_path, code=2)


def test_installed_playbooks_find_their_roles_and_modules(playbook_home, tmp_path):
    env = {"ANSIBLE_CONFIG": str(playbook_home / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    (tmp_path / "hosts.yml").write_text("all: {hosts: {stor1: {}}}\n")
    argv = [
        sys.executable,
        "-P",
        "-m",
        "ansible",
        "playbook",
        "--syntax-check",
        "-i",
        "hosts.yml",
        "-e",
        "member=stor1",
    ]
    books = sorted((playbook_home / "playbooks").glob("*.yml"))
    assert [b.name for b in books] == [b.name for b in sorted((ROOT / "playbooks").glob("*.yml"))]
    call(*argv, *books, cwd=tmp_path, **env)


@pytest.fixture(scope="module")
def playbook_home(wheels, tmp_path_factory):
    """Return the content of the wheel of avadm, unpacked."""
    folder = tmp_path_factory.mktemp("content")
    zipfile.ZipFile(wheels[ROOT.name]).extractall(folder)
    return folder / "avadm/content"


@pytest.mark.slow
def test_runs_and_the_default_site_are_kept_beside_the_site_file(wheels, installed, tmp_path):
    python = installed(wheels[ROOT.name]) / "python"
    site = tmp_path / "room" / "site.yml"
    site.parent.mkdir()
    (tmp_path / "other").mkdir()
    asks = "from avadm.cli.main import cli; from avadm import paths; cli.main(['--site', {!r}, 'version'], standalone_mode=False)"
    shows = "; print(paths.runs(), paths.default_site_pointer(), paths.home())"
    reply = call(python, "-c", asks.format(str(site)) + shows, cwd=tmp_path / "other").split()[-3:]
    assert reply[0] == str(site.parent / "runs")
    assert reply[1] == str(tmp_path / "other/.config/avadm/site")
    assert reply[2].endswith("site-packages/avadm/content")


def test_a_wheel_has_what_git_has_and_what_is_generated(wheels):
    stray = ROOT / "inventory" / "stray.vault-pass"
    stray.write_text("secret\n")
    try:
        spec = importlib.util.spec_from_file_location("avadm_hook", ROOT / "hatch_build.py")
        hook = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(hook)
        found = hook.content(ROOT)
    finally:
        stray.unlink()
    assert "inventory/stray.vault-pass" not in found
    assert "inventory/small.yml" in found
    assert "roles/grafana/files/dashboards/fleet.json" in found
    assert "roles/prometheus/files/rules/hosts.yml" in found
    # The link of module_utils to avadm_node is followed.
    assert "plugins/module_utils/avadm_node/probes/lock.py" in found
    assert {f"avadm/content/{n}" for n in found} <= names(wheels[ROOT.name])


def test_building_leaves_nothing_behind_and_no_artifact_gets_another_version(tmp_path):
    sources = ("ava", "distributions/ava-client")
    before = content(sources)
    for project in (ROOT / "ava", CLIENT):
        present = {p for p in project.iterdir() if p.name != "__pycache__"}
        built(project, tmp_path)
        assert {p for p in project.iterdir() if p.name != "__pycache__"} == present
    assert content(sources) == before


@pytest.mark.parametrize(
    "left",
    ["build/lib/ava/api/app.py", "dist/x.whl", "ava.egg-info/PKG-INFO", "api/app.py.orig", "api/.app.py.swp"],
)
def test_what_tools_leave_in_a_package_changes_no_artifact(left, tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_HOME", str(tmp_path))
    for name in ("ava/__init__.py", "ava/api/__init__.py", "ava/api/app.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# ours\n")
    before = content(("ava",))
    (tmp_path / "ava" / left).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "ava" / left).write_text("# left behind\n")
    assert content(("ava",)) == before
    (tmp_path / "ava/api/new.py").write_text("# ours too\n")
    assert content(("ava",)) != before


def imported(files) -> set[str]:
    """Return the top names of what files import that is neither Python's nor ours."""
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.Import):
                found |= {a.name.split(".")[0] for a in node.names}
    ours = {"avadm", "avadm_node", "ava", "_typeshed", *(p for packages in ADDED.values() for p in packages)}
    return found - set(sys.stdlib_module_names) - ours


def declared(project: Path, *extras: str) -> set[str]:
    data = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    wanted = [*data["dependencies"], *(r for e in extras for r in data["optional-dependencies"][e])]
    return {re.split(r"[\[<>=; ]", r)[0].lower().replace("_", "-").replace(".", "-") for r in wanted}


def distribution(name: str) -> str:
    return NAMES.get(name, name.replace("_", "-"))


def client_files() -> dict[str, Path]:
    spec = importlib.util.spec_from_file_location("ava_client_hook", CLIENT / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook.modules(ROOT / "ava")


def test_avadm_declares_all_that_it_imports():
    files = [*sources("avadm"), *(f for f in client_files().values() if f.suffix == ".py")]
    wanted = imported(files) - WITH_PYDANTIC
    assert {distribution(n) for n in wanted} - declared(ROOT) == set()


@pytest.mark.parametrize("project", ADDED, ids=lambda p: p.name)
def test_a_distribution_of_its_own_declares_all_that_it_imports_in_the_checkouts_versions(project):
    wanted = imported(f for package in ADDED[project] for f in sources(package)) - WITH_PYDANTIC
    assert {distribution(n) for n in wanted} - declared(project) == set()
    checkout = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = {*checkout["dependencies"], *checkout["optional-dependencies"]["acceptance"]}
    pins.add(f"avadm=={checkout['version']}")
    own = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    assert set(own["dependencies"]) <= pins
    assert own["version"] == checkout["version"]


def sources(package: str) -> list[Path]:
    """Return a package's files that avadm's environment runs."""
    found = [f for top in ("installer", "validation") for f in (ROOT / top / package).rglob("*.py")]
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    left_out = {f for pattern in wheel["exclude"] for f in ROOT.glob(pattern)}
    return [f for f in found if f not in left_out and not set(NODES_PYTHON) & set(f.parts)]


def test_a_production_controller_gets_no_development_tools():
    kept = declared(ROOT, "build", "acceptance")
    assert not kept & {
        "playwright",
        "mypy",
        "molecule",
        "pytest",
        "ansible-lint",
        "schemathesis",
        "hypothesis",
    }


def test_the_client_declares_all_that_it_imports_and_no_server(wheels):
    assert {
        distribution(n) for n in imported(f for f in client_files().values() if f.suffix == ".py")
    } <= declared(CLIENT)
    assert not declared(CLIENT) & {
        "fastapi",
        "sqlalchemy",
        "psycopg",
        "alembic",
        "uvicorn",
        "starlette",
        "kubernetes",
    }
    assert not [
        n
        for n in names(wheels[CLIENT.name])
        if n.startswith(("ava/db", "ava/services", "ava/web", "ava/api"))
    ]


@pytest.mark.slow
def test_the_client_runs_where_it_is_installed(wheels, installed, tmp_path):
    bin_ = installed(wheels[CLIENT.name])
    assert "workbench" in call(bin_ / "ava", "--help", cwd=tmp_path)
    every = "import pkgutil, ava; [__import__(m.name) for m in pkgutil.walk_packages(ava.__path__, 'ava.')]"
    call(bin_ / "python", "-c", every, cwd=tmp_path)


def test_the_client_is_written_for_python_3_9():
    argv = [
        Path(sys.executable).parent / "vermin",
        "--no-tips",
        "--violations",
        "-t=3.9-",
        "--eval-annotations",
    ]
    files = [str(f) for f in client_files().values() if f.suffix == ".py"]
    done = subprocess.run([*map(str, argv), *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
