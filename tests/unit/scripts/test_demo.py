"""scripts/demo with an avadm that only says how acceptance ended."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[3] / "scripts/demo"


@pytest.fixture
def demo(tmp_path):
    """Run the demo in a checkout that has an older report; `ends` is the exit status of `accept run`."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(DEMO, tmp_path / "scripts/demo")
    (tmp_path / "scripts/install").write_text("#!/bin/sh\n")
    (tmp_path / "scripts/install").chmod(0o755)
    (tmp_path / "runs/1-accept/report").mkdir(parents=True)
    (tmp_path / "runs/1-accept/report/report.html").touch()
    (tmp_path / "runs/latest").symlink_to("1-accept")
    avadm = tmp_path / ".venv/bin/avadm"
    avadm.parent.mkdir(parents=True)

    def run(ends: int, roles: str = "mon", doctor: int = 0) -> subprocess.CompletedProcess[str]:
        new = "mkdir -p runs/2-accept/report && ln -sfn 2-accept runs/latest" if ends < 2 else ":"
        shown = f'{{"nodes": [{{"roles": ["{roles}"]}}]}}'
        avadm.write_text(
            f"#!/bin/sh\n[ \"$1 $2\" != 'lab list' ] || echo '{shown}'\n[ \"$1\" != doctor ] || exit {doctor}\n"
            f'[ "$1" = accept ] || exit 0\n{new}\nexit {ends}\n'
        )
        avadm.chmod(0o755)
        env = {k: v for k, v in os.environ.items() if k != "AVADM_RUNS"}
        return subprocess.run([tmp_path / "scripts/demo"], env=env, capture_output=True, text=True)

    return run


def test_kubectl_is_named_where_there_is_a_master(demo, tmp_path, monkeypatch):
    program = tmp_path / "cache/artifacts/kubernetes/1/hyperkube"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    reply = demo(0, roles="master").stdout
    assert "avadm lab ssh mast1     then: kubectl get nodes" in reply
    assert f"{program} kubectl --kubeconfig .lab/site.kubeconfig get nodes" in reply
    assert "kubectl get nodes" not in demo(0).stdout


@pytest.mark.parametrize(("ends", "message"), [(0, "Done "), (1, "found something")])
def test_the_report_is_this_runs(demo, ends, message):
    done = demo(ends)
    assert done.returncode == ends
    assert message in done.stdout
    assert done.stdout.endswith("/runs/2-accept/report/report.html\n")


@pytest.mark.parametrize("doctor", [1, 2])
def test_what_the_doctor_found_is_not_a_good_end(demo, doctor):
    done = demo(0, doctor=doctor)
    assert done.returncode == 1
    assert "found something" in done.stdout
    assert done.stdout.endswith("/runs/2-accept/report/report.html\n")


def test_without_a_measurement_no_older_report_is_shown(demo):
    done = demo(2)
    assert done.returncode == 2
    assert "could not run" in done.stdout
    assert "make lab-down" in done.stdout
    assert "1-accept" not in done.stdout
