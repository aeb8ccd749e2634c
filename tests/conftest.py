"""What all tests share: the files that are generated are there, and current."""

import gc
import subprocess
import sys
from pathlib import Path


def pytest_configure(config):
    # What is collected lives to the end: looking through it again and again took two fifths of the time.
    gc.disable()
    # Once, and before workers begin.
    if not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, Path(__file__).parents[1] / "scripts/generate"], check=True)


def pytest_collection_finish(session):
    gc.freeze()
    gc.enable()
