"""The folder of acceptance's tools, which are run as root: no one else's folder, link or open folder is taken for it."""

import os
import subprocess
from types import SimpleNamespace

import pytest

from avadm_validation.measuring.context import Context


def made(folder):
    command = Context.private.fget(SimpleNamespace(tools=str(folder)))
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


def test_it_is_made_shut_and_found_again(tmp_path):
    folder = tmp_path / "tools"
    for _ in range(2):
        assert made(folder).returncode == 0
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["open", "link", "file", "other"])
def test_what_another_could_have_made_is_refused(tmp_path, kind):
    folder = tmp_path / "tools"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        folder.touch(0o700)
    else:
        folder.mkdir(mode=0o777 if kind == "open" else 0o700)
        folder.chmod(0o777 if kind == "open" else 0o700)
    if kind == "other":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(folder, 65534, 65534)
    refused = made(folder)
    assert refused.returncode != 0
    assert "is not ours alone" in refused.stderr
