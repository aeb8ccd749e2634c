"""Calls of a node to itself do not go through the proxy of its environment."""

import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from avadm.components.catalog import COMPONENTS
from avadm.components.version_commands import build_info

ROOT = Path(__file__).parents[3]


class Metrics(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'kubernetes_build_info{gitVersion="v1.9.11"} 1\n'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_version_is_read_where_the_environment_names_a_proxy():
    server = HTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        nowhere = "http://127.0.0.1:1"
        env = {"PATH": "/usr/bin:/bin", "http_proxy": nowhere, "ALL_PROXY": nowhere}
        argv = build_info(server.server_port)
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=30, check=True)
    finally:
        server.shutdown()
        server.server_close()
    assert done.stdout.strip() == "1.9.11"


def test_each_program_that_is_asked_by_curl_is_asked_without_a_proxy():
    asked = [w for c in COMPONENTS for p in c.programs if "curl" in (w := " ".join(p.command))]
    assert len(asked) > 3
    assert [a for a in asked if "--noproxy" not in a] == []


def tasks(thing):
    """Return each mapping in a file of tasks."""
    if isinstance(thing, dict):
        yield thing
        for value in thing.values():
            yield from tasks(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from tasks(value)


@pytest.mark.parametrize("folder", ["roles", "playbooks"])
def test_each_task_that_asks_a_url_uses_no_proxy(folder):
    for path in (ROOT / folder).rglob("*.yml"):
        for task in tasks(yaml.safe_load(path.read_text()) if "/tasks/" in str(path) else []):
            for name in ("ansible.builtin.uri", "uri"):
                if isinstance(task.get(name), dict):
                    assert task[name].get("use_proxy") is False, path


def test_each_call_of_curl_on_nodes_uses_no_proxy():
    for folder, pattern in (("avadm_node", "*.py"), ("roles", "*.j2"), ("plugins", "*.py")):
        for path in (ROOT / folder).rglob(pattern):
            for number, line in enumerate(path.read_text().split("\n"), 1):
                if '"curl", "' in line or "exec curl " in line:
                    assert "--noproxy" in line, f"{path}:{number}"
