"""What is read of running servers of Kubernetes: here python plays hyperkube."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from avadm.doctor.collect import probe

FLAGS = ["--anonymous-auth=false", "--read-only-port=0", "--v"]


@pytest.fixture
def played(tmp_path: Path):
    """A folder in which a program called hyperkube is kubelet, and tells its source when it is asked as kubectl."""
    (tmp_path / "kubelet").write_text("import time\ntime.sleep(60)\n")
    told = {"clientVersion": {"gitCommit": "avadm.2"}}
    (tmp_path / "kubectl").write_text(f"import json\nprint(json.dumps({told}))\n")
    child = subprocess.Popen(["hyperkube", "kubelet", *FLAGS], executable=sys.executable, cwd=tmp_path)
    try:
        time.sleep(0.2)
        yield tmp_path
    finally:
        child.kill()
        child.wait()


def test_a_servers_build_and_flags_are_read_from_its_process(played: Path) -> None:
    params = {"parts": {"defences": 20}, "packages": {"no-such-package": "1"}}
    text = f"PARAMS = {json.dumps(json.dumps(params))}\n{probe()}"
    done = subprocess.run(
        [sys.executable, "-"], input=text, capture_output=True, text=True, cwd=played, check=True, timeout=60
    )
    found = json.loads(done.stdout)
    assert found["errors"] == {}
    said = found["parts"]["defences"]
    assert said["commits"]["kubelet"] == "avadm.2"
    assert said["flags"]["kubelet"] == {"anonymous-auth": "false", "read-only-port": "0", "v": ""}
    assert said["packages"] == {}
