"""The GPU exporter of our own: what nvidia-smi and the kernel's log say, under the names that rules and panels ask for."""

import ast
import http.client
import re
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from avadm.site import profile
from avadm_node import serving
from avadm_node.agents import gpu_exporter as exporter
from tests.unit.fakes.roles import ROLES
from tests.unit.fakes.running import stub

SMI = """0, GPU-aa, 00000000:06:00.0, 35, 1000, 15160, 40, 98.50, 0
1, GPU-bb, 00000000:8A:00.0, 0, 11, 16149, 38, [Not Supported], [N/A]
"""
LOG = "6,1,2,-;NVRM: Xid (PCI:0000:8a:00): 48, An uncorrectable double bit error\n"


@pytest.fixture
def served(tmp_path):
    """Return a function: what the exporter answers where nvidia-smi says and ends so."""

    def get(says=SMI, ends=0, silent=0):
        stub(tmp_path / "nvidia-smi", f"cat <<'X'\n{says}X\nexit {ends}")
        xids = {}
        exporter.note(LOG, xids)
        server = exporter.Server(("127.0.0.1", 0), exporter.handler(str(tmp_path / "nvidia-smi"), xids, "g1"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = ("127.0.0.1", server.server_port)
        mute = [socket.create_connection(place) for _ in range(silent)]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{place[1]}/metrics", timeout=5) as answer:
                return answer.read().decode()
        finally:
            for one in mute:
                one.close()
            server.shutdown()
            server.server_close()

    return get


def test_each_gpu_is_reported_and_what_it_does_not_know_is_left_out(served):
    text = served()
    assert 'dcgm_gpu_utilization{gpu="0",uuid="GPU-aa",node="g1"} 35.0\n' in text
    assert 'dcgm_xid_errors{gpu="0",uuid="GPU-aa",node="g1"} 0\n' in text
    assert 'dcgm_xid_errors{gpu="1",uuid="GPU-bb",node="g1"} 48\n' in text
    assert text.count("dcgm_power_usage{") == 1
    assert text.count("dcgm_ecc_dbe_volatile_total{") == 1


@pytest.mark.parametrize(("says", "ends"), [("No devices were found\n", 6), (SMI, 9), ("", 0)])
def test_a_driver_that_does_not_answer_is_no_empty_page(served, says, ends):
    with pytest.raises(urllib.error.HTTPError) as caught:
        served(says, ends)
    assert caught.value.code == 503


def test_connections_that_say_nothing_keep_no_one_waiting(served):
    assert "dcgm_fb_used" in served(silent=3)


def test_a_flood_of_them_makes_no_thread_beyond_the_limit(served, monkeypatch):
    monkeypatch.setattr(serving, "CONNECTIONS", 2)
    with pytest.raises((OSError, http.client.HTTPException)):
        served(silent=2)


def test_it_tells_all_that_rules_and_dashboards_ask_for():
    asked = set()
    for folder in ("prometheus/files/rules", "grafana/files/dashboards"):
        for path in (ROLES / folder).iterdir():
            asked |= set(re.findall(r"\bdcgm_[a-z_]+", path.read_text()))
    reports = {name for name, _, _ in exporter.METRICS} | {"dcgm_xid_errors"}
    assert asked
    assert asked <= reports


def test_python_3_5_reads_it():
    ast.parse(Path(exporter.__file__).read_text(), feature_version=(3, 5))


def test_the_stated_profile_names_the_packages_of_ubuntu_16_04():
    """There the driver is nvidia-396, not nvidia-driver-396 (which begins with 18.04), and DCGM brings no exporter."""
    stated = profile.load("stated")
    names = [p.partition("=")[0] for p in stated.packages["gpu_driver"]]
    assert names == ["nvidia-396", "libcuda1-396", "nvidia-modprobe"]
    assert all(p.endswith("=396.44-*") for p in stated.packages["gpu_driver"])
    assert stated.features["gpu_exporter"] == "nvidia-smi"
    assert "gpu_exporter" not in stated.packages
