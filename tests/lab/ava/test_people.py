"""`avadm ava` on the lab: users, groups and quotas from a file, a link for who is new, usage for billing."""

import csv
import io
import json
import secrets
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from ava.client import ApiError, Client

pytestmark = pytest.mark.lab


@pytest.fixture
def avadm(platform):
    assert platform.make_admin().returncode == 0

    def run(*words):
        line = [
            sys.executable,
            "-m",
            "avadm",
            "--site",
            str(platform.site),
            "ava",
            *words,
            "--as",
            platform.admin,
        ]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)

    return run


def test_a_file_is_brought_there_once_and_its_new_user_gets_in_by_the_link(
    avadm, platform, authority, tmp_path
):
    word = secrets.token_hex(3)
    name, group = f"people-{word}", f"people-{word}"
    file = tmp_path / "people.yml"
    file.write_text(f"""\
users:
  - {{name: {name}, email: {name}@example.org, home: 10GiB}}
groups:
  - {{name: {group}, members: [{name}], quota: {{gpu: 1, cpu: 2, memory: 1GiB, storage: 1GiB}}}}
""")
    shown = avadm("apply", str(file), "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert f"would group {group}: make with gpu 1, cpu 2, memory 1 GiB, storage 1 GiB" in shown.stdout
    done = json.loads(avadm("apply", str(file), "--json").stdout)
    [link] = done["links"]
    assert link["url"].startswith(f"https://{platform.host}/invitation#")
    try:
        assert avadm("apply", str(file)).stdout == "Nothing to change.\n"
        with Client(f"https://{platform.host}", ca=authority) as user:
            invitation = link["url"].partition("#")[2]
            user.use_invitation(invitation, platform.password)
            with pytest.raises(ApiError):
                user.use_invitation(invitation, "another long password")
            user.login(name, platform.password)
            assert [g.name for g in user.groups()] == [group]
            assert user.group(group).quota.gpu == 1
    finally:
        file.write_text("users: []\n")
        names = (f"member:{group}/{name}", f"group:{group}", f"user:{name}")
        left = avadm("apply", str(file), *(word for one in names for word in ("--prune", one)))
    assert left.returncode == 0, left.stderr


def test_usage_is_exported_and_the_same_twice(avadm, day):
    day.succeeded(day.start("billed", "print(1)"))
    line = ("usage", "--month", f"{datetime.now(UTC):%Y-%m}", "--csv")
    rows = list(csv.DictReader(io.StringIO(avadm(*line).stdout)))
    mine = [r for r in rows if r["group"] == day.group]
    assert len(mine) == 1 and int(mine[0]["runs"]) >= 1 and float(mine[0]["cpu_hours"]) > 0
    again = list(csv.DictReader(io.StringIO(avadm(*line).stdout)))
    assert [r for r in again if r["group"] == day.group] == mine
