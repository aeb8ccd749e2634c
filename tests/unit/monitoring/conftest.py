"""promtool and amtool: from PATH, or from where scripts/tools puts them."""

import os
import shutil
import subprocess

import pytest

from avadm import paths


@pytest.fixture(scope="session")
def tool():
    """Return a function that runs promtool or amtool and asserts that it is content."""

    def run(name, *arguments, cwd=None):
        program = shutil.which(name, path=f"{os.environ['PATH']}:{paths.cache() / 'tools'}")
        if program is None:
            pytest.skip(f"{name} is missing: run scripts/tools")
        done = subprocess.run(
            [program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    return run
