"""What all tests share: the files that are generated are there, and current."""

import subprocess
import sys
from pathlib import Path


def pytest_configure(config):
    # Once, and before workers begin.
    if not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, Path(__file__).parents[1] / "scripts/generate"], check=True)
