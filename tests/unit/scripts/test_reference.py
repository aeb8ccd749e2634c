"""docs/reference is what the code says of itself."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_committed_pages_are_current():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/reference", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_role_and_verb_has_its_part():
    roles = (ROOT / "docs/reference/roles.md").read_text(encoding="utf-8")
    verbs = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert [
        r.name for r in (ROOT / "roles").iterdir() if r.is_dir() and f"\n## {r.name}\n" not in roles
    ] == []
    for verb in ("apply", "lab up", "site check", "runs show", "accept verify"):
        assert f"## `avadm {verb}`" in verbs
