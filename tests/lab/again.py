"""The second run: everything that is installed once more, run once for all tests that look at it from different sides.

It takes minutes. While it runs, each node's pythons note that they start, all processes are watched for secrets,
and another controller tries the same.
"""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from avadm.cli.main import App
from tests.lab import hunt
from tests.lab.faults.drive import AVADM, avadm, latest

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
    """What came of `avadm apply --full` over what is installed: its run folder and summary, and what was seen meanwhile.

    pythons: lines "VERSION ARGUMENTS" of each python that started, by node.
    with_secrets: processes that had a secret in their arguments or environment, but for the planted ones.
    refused, dry: what another controller's `apply`, and its dry run, said; pid: the process of the run itself.
    """

    folder: Path
    said: str
    pid: int
    pythons: dict = field(default_factory=dict)
    with_secrets: list = field(default_factory=list)
    refused: subprocess.CompletedProcess | None = None
    dry: subprocess.CompletedProcess | None = None

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
    """One more `avadm apply --full` over what is installed, and what was seen while it ran."""
    folder = tmp_path_factory.mktemp("again")
    other = other_controller(lab, folder)
    output, pythons, before = folder / "said", {}, latest()
    with (
        noting(lab, pythons),
        hunt.watched(lab, hunt.needles(lab.site_path)) as found,
        output.open("w") as said,
    ):
        ours = subprocess.Popen([AVADM, "apply", "--full"], stdout=said, stderr=subprocess.STDOUT)
        try:
            tried = _beside(lab, ours, other, before)
            ours.wait(LIMIT_S)
        finally:
            ours.terminate()
            ours.wait(60)
    text = output.read_text()
    assert ours.returncode == 0, text
    return SecondRun(
        said=text,
        pid=ours.pid,
        pythons=pythons,
        with_secrets=found,
        **tried,
    )


def _beside(lab, ours, other, before):
    """Try the same from another controller as soon as the run holds its lock."""
    until = time.monotonic() + 60
    while lab.run(lab.names("mon")[0], f"cat {lock_file(lab)}").returncode != 0:
        if time.monotonic() > until or ours.poll() is not None:
            print("the run takes no lock", file=sys.stderr)
            return {"folder": latest()}
        time.sleep(0.2)
    # The run makes its folder when it has the lock; the other's dry run is the latest afterwards.
    while (folder := latest()) == before:
        assert time.monotonic() < until, "the run makes no folder"
        time.sleep(0.2)
    return {
        "folder": folder,
        "refused": avadm("--site", other, "apply"),
        "dry": avadm("--site", other, "apply", "--check", "base"),
    }
