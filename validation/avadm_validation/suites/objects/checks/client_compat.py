"""A-S3-6: programs of today are served, with the setting that avadm names to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.objects.store import SETTINGS, S3Client

ID = "A-S3-6"
TITLE = ("object store: programs of today", "对象存储:当前版本客户端")
NEEDS = "controller"
TOOL = "s3compat.py"
LIMIT_S = 180.0


def run(ctx: Context) -> Outcome:
    """Write and read with the controller's boto3, once with the setting and once without."""
    store = S3Client(ctx)
    ctx.step("boto3 of today, on the controller")
    with_it, without = (
        _ask(store, name, settings) for name, settings in (("with", SETTINGS), ("without", {}))
    )
    reply = json.loads(ctx.read(with_it))
    return Outcome(
        method=f"boto3 {reply['boto3']} of the controller at {store.target.direct}: an object in one request, one in parts, an "
        f"empty one; read, listed, removed; with {' '.join(f'{k}={v}' for k, v in SETTINGS.items())}, and without",
        metrics=[
            metric(
                "served",
                ("with the setting all is read as it was written (1 = yes)", "设置后读写正确"),
                "bool",
                "client",
                [ctx.sample("s3_today", {"doc": [with_it]})],
            ),
            metric(
                "without",
                ("the same without the setting (0: it is needed here)", "未设置时读写正确"),
                "bool",
                "client",
                [ctx.sample("s3_today", {"doc": [without]})],
            ),
        ],
        reasons=[] if not reply["error"] else [f"the store answered {reply['error']}"],
        remedy="The raw files name what the store answered; docs/how-to/object-store-and-cache.md says what clients must set.",
    )


def _ask(store: S3Client, name: str, settings: Mapping[str, str]) -> str:
    """Run the tool here with these settings and no one's own; return its raw file. The keys go through standard input."""
    with tempfile.TemporaryDirectory() as folder:
        ca = Path(folder) / "ca.crt"
        ca.write_text(store.target.ca_pem)
        job = {
            "endpoint": store.target.direct,
            "region": store.target.region,
            "keys": list(store.target.keys),
            "ca": str(ca) if store.target.ca_pem else "",
            "bucket": f"{store.bucket}-{name}",
        }
        return store.ctx.rec.save(f"today-{name}.out", tried(job, settings))


def tried(job: Mapping[str, Any], settings: Mapping[str, str]) -> str:
    """Return what the tool prints of a job in an environment of these settings alone; MeasureError where it breaks."""
    anonymous = {
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "*",
        "PATH": os.environ.get("PATH", ""),
    }
    tool = files("avadm_validation") / "tools" / TOOL
    try:
        done = subprocess.run(
            [sys.executable, str(tool)],
            input=json.dumps(job),
            env={**anonymous, **settings},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MeasureError(f"the controller: {TOOL}: no end after {LIMIT_S:.0f} s") from error
    if done.returncode:
        raise MeasureError(f"the controller: {TOOL}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return done.stdout
