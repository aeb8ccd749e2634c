"""`ava workbench`: made, listed, and its ssh configuration."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from ava.cli.commands.workbench import known_hosts, merged, stanzas
from ava.schemas.workbenches import SshOut

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh"
SSH = SshOut(
    host="wb-d1bench.ava-vision.svc.cluster.local",
    port=22,
    user="ann",
    host_key=KEY,
    jump_host="ssh.example.org",
    jump_port=22,
    jump_user="ava",
    jump_host_key=KEY,
)


def asked(config: Path, host: str) -> dict[str, str]:
    """Return what ssh itself makes of a configuration."""
    reply = subprocess.run(["ssh", "-G", "-F", str(config), host], capture_output=True, text=True, check=True)
    return dict(line.split(" ", 1) for line in reply.stdout.splitlines() if " " in line)


def test_ssh_understands_what_it_is_reported(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        merged("Host *\n  User somebody\n  StrictHostKeyChecking no\n", stanzas([("torch", SSH)]))
    )
    bench, gateway = asked(config, "ava-torch"), asked(config, "ava-gateway")
    assert (bench["hostname"], bench["user"], bench["port"]) == (SSH.host, "ann", "22")
    assert bench["proxyjump"] == "ava-gateway"
    assert (bench["hostkeyalias"], bench["stricthostkeychecking"]) == ("wb-d1bench", "true")
    assert (gateway["hostname"], gateway["user"]) == ("ssh.example.org", "ava")
    assert gateway["stricthostkeychecking"] == "true"
    assert known_hosts([SSH]) == f"ava-gateway {KEY}\nwb-d1bench {KEY}\n"


def test_what_else_is_in_the_configuration_stays_and_ours_is_replaced() -> None:
    there = "Host work\n  User me\n"
    first = merged(there, stanzas([("torch", SSH), ("old", SSH)]))
    again = merged(first, stanzas([("torch", SSH)]))
    assert again == merged(there, stanzas([("torch", SSH)]))
    assert again.endswith(there)
    assert "ava-old" not in again


def test_files_are_written_whole_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ava.cli.commands import workbench

    path = tmp_path / "config"
    path.write_text("old")
    workbench._put(path, "new\n")
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["config"]
