"""The files of a workbench: the start script is run by a real shell (the lab's tests run it with sshd and Jupyter)."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ava.operator.manifests import workbench_files
from ava.operator.manifests.workbench_files import START


def script(folder: Path, **programs: str) -> tuple[Path, dict[str, str]]:
    """Return the start script with its paths below a folder, and the environment in which these programs are there."""
    bench, bin = folder / "bench", folder / "bin"
    for one in (bench, bin, folder / "home"):
        one.mkdir()
    (bench / "sshd_config").write_text("Port 2222\n")
    text = START.replace(workbench_files.FOLDER, str(bench)).replace("/usr/sbin/sshd", str(bin / "sshd"))
    (bench / "start").write_text(text)
    for name, reply in programs.items():
        (bin / name).write_text(f"#!/bin/sh\n{reply}\n")
        (bin / name).chmod(0o755)
    env = {
        "PATH": f"{bin}:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder),
        "OUT": str(folder),
    }
    return bench / "start", env


def until(path: Path, seconds: float = 20) -> str:
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < end, f"{path} is not there"
        time.sleep(0.05)
    return path.read_text()


def test_logins_have_the_containers_variables_whatever_is_in_them(tmp_path: Path) -> None:
    start, env = script(
        tmp_path, sshd='cat "$4" > $OUT/config.new; mv $OUT/config.new $OUT/config; exec sleep 60'
    )
    env |= {"A": 'a "quoted" \\ word', "LINES2": "one\ntwo", "SSH_AUTH_SOCK": "x", "B": "#b $HOME"}
    with subprocess.Popen(["sh", str(start), "sleep", "60"], env=env, start_new_session=True) as it:
        try:
            config = until(tmp_path / "config")
        finally:
            os.killpg(it.pid, signal.SIGKILL)
    assert config.startswith("Port 2222\nSetEnv ")
    line = config.splitlines()[1]
    assert "SHLVL=1" in line.split()
    assert r'"A=a \"quoted\" \\ word"' in line
    assert '"B=#b $HOME"' in line
    assert "LINES2" not in line
    assert "SSH_AUTH_SOCK" not in line
    assert "HOME=" not in line.replace("#b $HOME", "")


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="there is no bash")
def test_a_bashrc_that_prints_breaks_no_copy(tmp_path: Path) -> None:
    """scp -O, rsync and git run a command by the user's shell, whose output is theirs alone."""
    (tmp_path / ".bashrc").write_text("echo noise\n")

    def output(**more: str) -> str:
        env = {"HOME": str(tmp_path), "SSH_CLIENT": "192.0.2.1 50000 22", **more}
        argv = ["/bin/bash", "-c", "echo data"]
        return subprocess.run(
            argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
        ).stdout

    level = dict(word.split("=") for word in START.partition('print "SetEnv ')[2].partition('"')[0].split())
    assert output(**level) == "data\n"


def test_jupyter_comes_again_and_ends_when_it_is_reported_to(tmp_path: Path) -> None:
    start, env = script(
        tmp_path, jupyter='echo "$@" >> $OUT/started; [ $(wc -l < $OUT/started) -gt 1 ] && exec sleep 60'
    )
    with subprocess.Popen(["sh", str(start)], env=env, start_new_session=True, stderr=subprocess.PIPE) as it:
        try:
            end = time.monotonic() + 20
            while until(tmp_path / "started").count("\n") < 2:
                assert time.monotonic() < end
                time.sleep(0.1)
            os.killpg(it.pid, signal.SIGTERM)
            assert it.wait(10) is not None
        finally:
            if it.poll() is None:
                os.killpg(it.pid, signal.SIGKILL)
    assert (tmp_path / "started").read_text().splitlines() == [
        f"lab --config={tmp_path}/bench/jupyter_server_config.json"
    ] * 2


def test_an_image_without_either_waits_until_it_is_stopped(tmp_path: Path) -> None:
    start, env = script(tmp_path)
    with subprocess.Popen(
        ["sh", str(start)], env=env, start_new_session=True, stderr=subprocess.PIPE, text=True
    ) as it:
        assert it.stderr is not None
        try:
            reply = it.stderr.readline() + it.stderr.readline()
            assert it.poll() is None
            os.killpg(it.pid, signal.SIGTERM)
            it.wait(10)
        finally:
            if it.poll() is None:
                os.killpg(it.pid, signal.SIGKILL)
    assert "no " in reply
    assert "sshd" in reply
    assert "jupyter" in reply


def test_keys_are_sorted_and_their_digest_tells_a_change() -> None:
    both = workbench_files.authorized(["ssh-b", "ssh-a", "ssh-b"])
    assert both == "ssh-a\nssh-b\n"
    assert workbench_files.digest(both) == workbench_files.digest(
        workbench_files.authorized(["ssh-a", "ssh-b"])
    )
    assert workbench_files.digest(both) != workbench_files.digest("ssh-a\n")
