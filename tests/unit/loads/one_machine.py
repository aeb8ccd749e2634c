"""A lab whose only node is this machine, with the programs and libraries that clients of a load need there."""

import json
import os
import subprocess
import sys
from pathlib import Path

# Writes the log that fio writes; a file "broken" makes the verification fail, a file "slow" makes a gap.
FIO = """
import pathlib, sys, time
here = pathlib.Path(__file__).parent
options = dict(w.lstrip("-").partition("=")[::2] for w in sys.argv[1:])
if (here / "broken").exists():
    print("load: (g=0)\\nverify: bad magic header 0, wanted acca at file offset 0")
    sys.exit(84)
if (here / "away").exists():
    print("load: (g=0)\\nfio: rbd_open failed")
    sys.exit(1)
if "verify_only" in options:
    sys.exit(0 if (here / "seed").read_text() == options["randseed"] else print("verify: other seed") or 84)
(here / "seed").write_text(options["randseed"])
with open("c_lat.1.log", "w") as log:
    for n in range(8):
        time.sleep(1.5 if n == 4 and (here / "slow").exists() else 0.02)
        log.write("%d, 1000, %d, 65536, 0, 0\\n" % (time.time() * 1000, n < 4))
"""
BOTO = """
import io, pathlib
ROOT = pathlib.Path(__file__).parent / "store"
class Client:
    def put_object(self, Bucket, Key, Body):
        if (ROOT / "away").exists():
            raise ConnectionError("SlowDown")
        path = ROOT / Bucket / Key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(Body)
    def get_object(self, Bucket, Key):
        return {"Body": io.BytesIO((ROOT / Bucket / Key).read_bytes())}
    def delete_object(self, Bucket, Key):
        (ROOT / Bucket / Key).unlink()
    def get_paginator(self, _):
        return self
    def paginate(self, Bucket, Prefix):
        found = (ROOT / Bucket / Prefix).glob("*")
        return [{"Contents": [{"Key": str(p.relative_to(ROOT / Bucket))} for p in found]}]
def client(*_, **__):
    return Client()
"""
PSYCOPG = """
import os, pathlib
ROOT = pathlib.Path(__file__).parent / "rows"
class Error(Exception): pass
def connect(where):
    if (ROOT / "away").exists():
        raise Error("connection refused")
    assert os.environ["PGPASSWORD"] == "secret"
    return Link()
class Link:
    def cursor(self): return self
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def execute(self, sql, values=()):
        if (ROOT / "away").exists():
            raise Error("server closed the connection")
        for n in values:
            (ROOT / str(n)).touch()
    def fetchall(self): return [(int(p.name),) for p in ROOT.glob("[0-9]*")]
"""
LIBRARIES = {
    "boto3.py": BOTO,
    "botocore/__init__.py": "UNSIGNED = object()",
    "botocore/config.py": "def Config(**_): pass",
    "botocore/exceptions.py": "class HTTPClientError(Exception): pass",
    "s3transfer/__init__.py": "",
    "s3transfer/utils.py": "S3_RETRYABLE_DOWNLOAD_ERRORS = ()",
    "psycopg2.py": PSYCOPG,
}
ROLES = {"client": ["n1", "n2"], "osd": ["n1"], "rgw": ["n1"], "database": ["n1"], "master": ["n1"]}


class OneMachine:
    """A lab of which each command runs on this machine.

    Args:
        folder: of this test; ``bin`` has programs, ``lib`` libraries.
    """

    def __init__(self, folder):
        self.folder, self.site_path = folder, folder / "site.yml"
        self.nodes = [{"name": name, "address": "127.0.0.1", "roles": []} for name in ("n1", "n2")]
        self.bin, self.lib = folder / "bin", folder / "lib"
        self.bin.mkdir()
        self._program("fio", FIO)
        self._program("rbd", "")
        for name, text in LIBRARIES.items():
            path = self.lib / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in ("store", "rows"):
            (self.lib / name).mkdir()
        user = {"access_key": "a", "secret_key": "b"}
        kept = {"endpoint": "https://127.0.0.1:1", "users": {"lab-ai": user}}
        self.site_path.with_suffix(".objects.json").write_text(json.dumps(kept))

    def _program(self, name, text):
        path = self.bin / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)

    def names(self, role):
        return ROLES.get(role, [])

    def node(self, name):
        return next(n for n in self.nodes if n["name"] == name)

    def argv(self, name):
        path = ":".join([str(self.bin), str(Path(sys.executable).parent), os.environ["PATH"]])
        return ["env", f"PATH={path}", f"PYTHONPATH={self.lib}", "sh", "-c"]

    def run(self, name, command, timeout=120):
        return subprocess.run(
            [*self.argv(name), command], capture_output=True, text=True, timeout=timeout, check=False
        )

    def sh(self, name, command, timeout=120):
        done = self.run(name, command, timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout
