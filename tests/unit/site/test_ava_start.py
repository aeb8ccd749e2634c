"""How the platform's processes start: a container that is started again finds what the last one left."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.unit.fakes.roles import given

UNPRIVILEGED = 65534


@pytest.fixture
def folder():
    """A folder that others come through, as pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="to become somebody else than root, who may write everything")
def test_a_container_that_is_started_again_gets_past_the_last_ones_password_file(folder):
    secret, memory = folder / "pgpass", folder / "shm"
    secret.write_text("word")
    secret.chmod(0o444)
    memory.mkdir()
    memory.chmod(0o1777)
    start = given("ava")["_ava_start"].replace("/etc/ava/database", str(folder))
    start = start.replace("/dev/shm", str(memory)).replace("exec python3", "exec true")
    for _ in range(2):
        done = subprocess.run(
            ["sh", "-c", start],
            user=UNPRIVILEGED,
            group=UNPRIVILEGED,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        kept = memory / "pgpass"
        assert (kept.read_text(), kept.stat().st_mode & 0o077) == ("word", 0), "libpq wants it for itself"
