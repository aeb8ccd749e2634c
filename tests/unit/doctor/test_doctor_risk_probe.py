"""What is read of running servers of Kubernetes: here python plays hyperkube."""

import json
import os
import subprocess
import sys
import time

import pytest

from avadm.remote.call import script
from avadm_node.probes.health import parts

FLAGS = ["--anonymous-auth=false", "--read-only-port=0", "--v"]


@pytest.fixture
def played(tmp_path):
    """A folder in which a program called hyperkube is kubelet, and tells its source when it is asked as kubectl.

    Another one, which systemd does not know, calls itself kube-proxy.
    """
    for name in ("kubelet", "kube-proxy"):
        (tmp_path / name).write_text("import time\ntime.sleep(60)\n")
    report = {"clientVersion": {"gitCommit": "avadm.4"}}
    (tmp_path / "kubectl").write_text(f"import json\nprint(json.dumps({report}))\n")
    children = [
        subprocess.Popen(["hyperkube", name, *FLAGS], executable=sys.executable, cwd=tmp_path)
        for name in ("kubelet", "kube-proxy")
    ]
    systemctl = tmp_path / "bin/systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(
        f"#!/bin/sh\ncase $3 in kubelet) echo MainPID={children[0].pid} ;; *) echo MainPID=0 ;; esac\n"
    )
    systemctl.chmod(0o755)
    try:
        time.sleep(0.2)
        yield tmp_path
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_a_servers_build_and_flags_are_read_from_its_process(played):
    params = {
        "parts": {"defences": 20},
        "modules": {"defences": "nodes"},
        "packages": {"no-such-package": "1"},
    }
    text = script(parts.ask, params)
    env = {**os.environ, "PATH": f"{played}/bin:{os.environ['PATH']}"}
    argv = [sys.executable, "-"]
    done = subprocess.run(
        argv, input=text, capture_output=True, text=True, cwd=played, check=True, timeout=60, env=env
    )
    found = json.loads(done.stdout)
    assert found["errors"] == {}
    reply = found["parts"]["defences"]
    # Whatever a pod's process calls itself: it is no server of the node, and its program is not run.
    assert reply["commits"] == {"kubelet": "avadm.4"}
    assert reply["flags"] == {"kubelet": {"anonymous-auth": "false", "read-only-port": "0", "v": ""}}
    assert reply["packages"] == {}
