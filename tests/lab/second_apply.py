"""The second run: everything that is installed once more, run once for all tests that look at it from different sides.

It takes minutes. While it runs, each node's pythons note that they start, all processes are watched for secrets,
and another controller tries the same.
"""

import contextlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from avadm.cli.main import App
from tests.lab import secret_scan
from tests.lab.faults.drive import avadm, in_mid_run, latest, start

LIMIT_S = 1500
NOTES = "/run/avadm-test-pythons"
# sitecustomize is imported by each python that starts, before what it was started for: here it notes who started.
NOTING = f"""
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


@dataclass
class SecondRun:
    """What came of `avadm apply --force` over what is installed: its run folder and summary, and what was seen meanwhile.

    pythons: lines "VERSION ARGUMENTS" of each python that started, by node.
    with_secrets: processes that had a secret in their arguments or environment, but for the planted ones.
    refused, dry: what another controller's `apply`, and its dry run, reported; pid: the process of the run itself.
    """

    folder: Path
    output: str
    pid: int
    pythons: dict
    with_secrets: list
    refused: subprocess.CompletedProcess
    dry: subprocess.CompletedProcess

    @property
    def summary(self):
        """The run's own summary."""
        return json.loads((self.folder / "summary.json").read_text())


def other_controller(lab, folder):
    """Return the site file of a controller that has the site, its vault and keys, and no ledger."""
    source = lab.site_path
    target = folder / "controller"
    shutil.copytree(source.parent, target, ignore=shutil.ignore_patterns(".avadm", "disks", "runs"))
    return str(target / source.name)


def lock_file(lab):
    """Return where the nodes keep the site's lock."""
    return f"/var/lib/avadm/{App(lab.site_path).site_file().site.name}/lock"


@contextlib.contextmanager
def noting(lab, notes):
    """While the block runs, each node's pythons note that they start; ``notes`` has them after it, by node."""
    names = [n["name"] for n in lab.nodes]
    for name in names:
        lab.sh(name, NOTING)
    try:
        yield
        notes.update({name: lab.sh(name, f"cat {NOTES}").splitlines() for name in names})
    finally:
        for name in names:
            lab.sh(name, PUT_BACK)


@pytest.fixture(scope="session")
def second_run(lab, tmp_path_factory):
    """One more `avadm apply --force` over what is installed, and what was seen while it ran."""
    other = other_controller(lab, tmp_path_factory.mktemp("again"))
    pythons, before = {}, latest()
    with noting(lab, pythons), secret_scan.watched(lab, secret_scan.needles(lab.site_path)) as found:
        ours = start("apply", "--force")
        try:
            # It holds its lock by now; the folder of the other's dry run is the latest afterwards.
            folder = in_mid_run(before, "base", ours)
            refused = avadm("--site", other, "apply")
            dry = avadm("--site", other, "apply", "--dry-run", "base")
            reply = ours.communicate(timeout=LIMIT_S)[0]
        finally:
            ours.terminate()
            ours.wait(60)
    assert ours.returncode == 0, reply
    return SecondRun(folder, reply, ours.pid, pythons, found, refused, dry)
