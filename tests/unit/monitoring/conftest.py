"""promtool and amtool: from PATH, or from where scripts/tools puts them."""

import os
import shutil
import subprocess

import pytest

from avadm import paths
from avadm.site.vault import PASSWORD_ENV
from tests.unit.fakes import labs


@pytest.fixture(scope="session")
def full(tmp_path_factory):
    """Return the variables of a site that has every part."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(PASSWORD_ENV, raising=False)
        return labs.variables(tmp_path_factory.mktemp("full"))


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
