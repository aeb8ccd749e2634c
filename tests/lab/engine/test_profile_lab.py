"""What the profile says is what works on the nodes: python for modules, one version of ceph everywhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from avadm.cli.main import App

pytestmark = pytest.mark.lab

AVADM = Path(sys.executable).parent / "avadm"
NOTES = "/run/avadm-test-pythons"
# sitecustomize is imported by each python that starts, before what it was started for: here it notes who started.
PLANT = f"""
touch {NOTES}
for f in /etc/python*/sitecustomize.py; do
  cp -a "$f" "$f.kept"
  cat >> "$f" <<'END'
import sys
try:
    with open("/proc/self/cmdline") as words, open("{NOTES}", "a") as notes:
        notes.write(" ".join([sys.version.split()[0]] + words.read().replace("\\0", " ").split()[:9]) + "\\n")
except Exception:
    pass
END
done
"""
PUT_BACK = f'for f in /etc/python*/sitecustomize.py; do mv "$f.kept" "$f"; done; rm -f {NOTES}'


@pytest.fixture(scope="module")
def profile(lab):
    """The profile of the lab's site file."""
    return App(lab.site_path).site_file().profile


def is_of_the_node(line):
    """Whether a note is of a program like ceph: python, options, a file. Ansible and avadm start theirs without one."""
    first = next((word for word in line.split()[2:] if not word.startswith("-")), "")
    return first.startswith("/")


def test_modules_run_under_the_profiles_python(lab, profile):
    """While `avadm apply` runs, each node's pythons note that they start."""
    nodes = [n["name"] for n in lab.nodes]
    for name in nodes:
        lab.sh(name, PLANT)
    try:
        done = subprocess.run(
            [AVADM, "apply", "--full"], capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        notes = {name: lab.sh(name, f"cat {NOTES}").splitlines() for name in nodes}
    finally:
        for name in nodes:
            lab.sh(name, PUT_BACK)
    for name, lines in notes.items():
        ours = [line.split()[1] for line in lines if not is_of_the_node(line)]
        assert any("mitogen" in program for program in ours), f"{name}: {lines}"
        assert {program.partition("(")[0] for program in ours} == {profile.python}, f"{name}: {lines}"


def test_ceph_is_of_the_profiles_version_everywhere(lab, profile):
    versions = json.loads(lab.sh(lab.names("mon")[0], "ceph versions --format json"))
    assert len(versions["overall"]) == 1
    [running] = versions["overall"]
    assert running.startswith(f"ceph version {profile.versions['ceph']}")
    assert {kind for kind, found in versions.items() if found} >= {"mon", "mgr", "osd", "mds"}
    for client in lab.names("client"):
        assert lab.sh(client, "ceph --version").split()[2] == running.split()[2]
