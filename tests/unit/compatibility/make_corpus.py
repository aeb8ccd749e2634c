"""Makes the corpus: files beside a site file, and run folders, as the code of former commits writes them.

`python tests/unit/compatibility/make_corpus.py COMMIT...` takes each commit's tree out of the repository and has that code
write `corpus/DATE-COMMIT/`. Values are made up; the formats are the commit's. A format that changes is one more commit here.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
ROOT = HERE.parents[2]
PASSWORD = "corpus"  # of a vault whose secrets are made up
SITES = ("lab", "minimal", "small")
"""Examples of site files; a commit has them or has them not."""
SITE = "small"
THEN = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def first(*names):
    """Return the first module of these that the code has."""
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(error.name):
                raise
    raise SystemExit(f"none of {names}")


def write(folder):
    """Write the files, by the code on the path."""
    vault = first("avadm.site.vault", "avadm.sitefile.secrets", "avadm.site.secrets").Vault
    runs = first("avadm.state.run_folder", "avadm.records.runfolder", "avadm.engine.runfolder").RunFolder
    state = first("avadm.state.site_state", "avadm.records.ledger", "avadm.engine.ledger")
    events = first("avadm.remote.events", "avadm.engine.events", "avadm.runner.events")
    summary = import_module("avadm.engine.summary").Summary
    site = folder / f"{SITE}.yml"
    site.with_suffix(".vault-pass").write_text(PASSWORD + "\n")
    site.with_suffix(".vault-pass").chmod(0o600)
    # A key has several lines, and a password may look like a number.
    makers = {"vault_logs_password": lambda: "0123", "vault_key_ca": lambda: "-----BEGIN\nÄ: 1\n-----END\n"}
    vault.open(site).ensure(makers)
    kept = (getattr(state, "SiteState", None) or state.Ledger).of(site, SITE)
    kinds = getattr(state, "PhaseState", None) or state.State
    kept.start("base", {"storage1": "d1", "storage2": "d2", "storage3": "d3"}, "r1")
    kept.finish("base", {"storage1": kinds.DONE, "storage2": kinds.FAILED})
    if hasattr(kept, "found"):
        kept.found("etcd", "service1", "cluster-1")
    if hasattr(kept, "keep_operation"):
        operations = import_module("avadm.state.operations")
        command = "avadm upgrade etcd --to debian-12-newer"
        kept.keep_operation(operations.OperationRecord(command, "upgrade", ("etcd",), 1.0, "ann@controller"))
        kept.keep_setting(operations.SettingRecord("cordon", "compute1", f"operation {command}", 2.0, True))
    run = runs.create("apply", folder / "runs", THEN)
    kind = events.Kind
    seen = [
        events.Event(1.0, "base", kind.PHASE_START, hosts=("storage1", "storage2")),
        events.Event(2.0, "base", kind.CHANGED, "storage1", "Install packages", 1.0),
        events.Event(
            3.0, "base", kind.FAILED, "storage2", "Install packages", 2.0, "no route: Ä", remedy="wait"
        ),
        events.Event(4.0, "base", kind.PHASE_END, message="failed", seconds=3.0),
    ]
    lines = "".join(import_module("json").dumps(e.as_dict()) + "\n" for e in seen)
    (run.path / "events.jsonl").write_text(lines)
    run.log.write_text("base failed\n")
    run.write_json(
        "plan.json", {"site": SITE, "phases": [{"name": "base", "hosts": ["storage1", "storage2"]}]}
    )
    # What all of these commits add to what the class has (engine/run.py, `_close`, and its predecessors).
    about = {"run": run.id, "verb": run.verb, "site": SITE, "started": f"{run.started:%Y-%m-%dT%H:%M:%SZ}"}
    about |= {"seconds": 3.0, "check": False, "log": "/srv/runs/log.txt", "next": "avadm apply base"}
    run.write_json("summary.json", {**about, **summary(seen).as_dict()})
    (folder / "runs" / "latest").unlink(missing_ok=True)


def corpus(commit):
    """Write the files of one commit."""
    git = ["git", "-C", str(ROOT)]
    name = subprocess.check_output(
        [*git, "log", "-1", "--date=format:%Y-%m-%d", "--format=%ad-%h", commit], text=True
    ).strip()
    target = CORPUS / name
    with tempfile.TemporaryDirectory() as scratch:
        tree, made = Path(scratch) / "tree", Path(scratch) / "made"
        tree.mkdir(), made.mkdir()
        archive = subprocess.Popen([*git, "archive", commit], stdout=subprocess.PIPE)
        subprocess.check_call(["tar", "-x", "-C", str(tree)], stdin=archive.stdout)
        for site in SITES:
            if (tree / "inventory" / f"{site}.yml").is_file():
                shutil.copy(tree / "inventory" / f"{site}.yml", made / f"{site}.yml")
        path = os.pathsep.join(str(tree / one) for one in ("installer", "validation", "."))
        own = {**os.environ, "PYTHONPATH": path, "TZ": "UTC"}
        own.pop("AVADM_VAULT_PASSWORD_FILE", None)
        subprocess.check_call([sys.executable, __file__, "--write", str(made)], cwd=scratch, env=own)
        # Under names that git does not ignore.
        (made / ".avadm").rename(made / "records")
        (made / f"{SITE}.vault-pass").unlink()
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)
    print(target)


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        # What lies beside this file is of another version.
        sys.path = [p for p in sys.path if Path(p or ".").resolve() not in (HERE, ROOT)]
        write(Path(sys.argv[2]))
    else:
        for one in sys.argv[1:]:
            corpus(one)
