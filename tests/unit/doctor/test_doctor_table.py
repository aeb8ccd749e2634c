"""The table in docs/doctor.md is what the code says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_committed_table_is_current():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/doctor-table", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
