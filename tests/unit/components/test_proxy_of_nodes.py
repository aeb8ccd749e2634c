"""A proxy that a node's environment names is asked for nothing of the site's own."""

import base64
import io
import json
import os
import re
import subprocess
import zlib
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import yaml

from avadm.remote import channel
from avadm_node import loader

ROOT = Path(__file__).parents[3]
NAMES = ("no_proxy", "NO_PROXY")
DIRECT = dict.fromkeys(NAMES, "*")
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda p: p.name)
def test_no_play_asks_a_proxy(path):
    for play in yaml.safe_load(path.read_text()):
        assert play.get("environment") == DIRECT, play["name"]


@pytest.mark.parametrize("user", ["root", "ubuntu"])
def test_no_command_over_ssh_asks_a_proxy(user, tmp_path):
    sudo = tmp_path / "sudo"
    sudo.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    sudo.chmod(0o755)
    env = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "https_proxy": "http://127.0.0.1:1",
        "NO_PROXY": "corp.example",
    }
    line = channel.wrap("printenv no_proxy NO_PROXY", user, 10)
    done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["*", "*"]


def test_no_function_that_is_sent_to_a_node_asks_a_proxy(monkeypatch):
    for name in NAMES:
        monkeypatch.setenv(name, "corp.example")
    texts = {"sent_here": [False, "import os\ndef tell(_):\n    return dict(os.environ)\n"]}
    sources = base64.b64encode(zlib.compress(json.dumps(texts).encode())).decode()
    monkeypatch.setattr(os, "_exit", lambda status: None)
    monkeypatch.setattr("sys.meta_path", list(__import__("sys").meta_path))
    with redirect_stdout(io.StringIO()) as out:
        loader.main("sent_here.tell", "null", sources)
    answer = out.getvalue().strip()
    found = json.loads(answer if answer.startswith("{") else zlib.decompress(base64.b64decode(answer)))
    assert {name: found[name] for name in NAMES} == DIRECT


@pytest.mark.parametrize(
    "unit",
    [
        "templates/kubernetes/unit.j2",
        *(f"roles/{name}" for name in (
            "coredns/templates/coredns.service.j2",
            "etcd/templates/etcd.service.j2",
            "ingress/templates/traefik.service.j2",
            "kube_state_metrics/templates/kube-state-metrics.service.j2",
        )),
    ],
)  # fmt: skip
def test_no_go_program_asks_a_proxy_of_systemds_environment(unit):
    assert "\nEnvironment=no_proxy=* NO_PROXY=*" in (ROOT / unit).read_text()


@pytest.mark.parametrize("name", ["etcd/files/avadm-etcd", "calico/files/avadm-calicoctl"])
def test_no_program_of_administrators_asks_a_proxy(name, tmp_path):
    text = (ROOT / "roles" / name).read_text()
    for kept in ("/etc/etcd/etcdctl.env", "/etc/calico/datastore.env"):
        text = text.replace(kept, str(tmp_path / "empty"))
    (tmp_path / "empty").touch()
    for program in ("etcdctl", "calicoctl"):
        (tmp_path / program).write_text("#!/bin/sh\nprintenv no_proxy NO_PROXY\n")
        (tmp_path / program).chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "no_proxy": "corp.example"}
    done = subprocess.run(
        ["bash", "-c", text, name, "ctl"], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["*", "*"]


SOURCES = [
    path
    for folder in ("avadm_node", "plugins", "validation/avadm_validation/tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def test_each_url_that_a_node_opens_is_opened_without_a_proxy():
    opening = [
        path for path in SOURCES if re.search(r"build_opener\(|urlopen\(|import requests", path.read_text())
    ]
    assert len(opening) > 6
    for path in opening:
        text = path.read_text()
        assert "urlopen(" not in text, path
        assert "import requests" not in text, path
        assert "ProxyHandler(" in text, path
