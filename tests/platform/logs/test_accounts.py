"""The accounts of the log store as the role starts it: nodes send lines and read nothing."""

import base64
import subprocess
import time
from datetime import UTC, datetime
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from bench.control_plane import free_port
from tests.platform.built import built
from tests.platform.logs.shipping import STORE

READER, SHIPPER = ("avadm", "read"), ("shipper", "send")
LINE = f'{{"_time":"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}","_msg":"a line","host":"comp1"}}\n'.encode()
INSERT = "/insert/jsonline?_stream_fields=host"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Return a function that asks a real store: account, path and body to status and answer."""
    folder = tmp_path_factory.mktemp("store")
    port = free_port()
    wanted = [w for w in STORE.read_text().split() if w.startswith(("-httpAuth.", "-insertAuth."))]
    flags = []
    for word in wanted:
        name, _, value = word.partition("=")
        account = READER if name.startswith("-httpAuth") else SHIPPER
        (folder / f"{account[0]}.password").write_text(account[1])
        flags.append(
            f"{name}=file://{folder}/{account[0]}.password" if "file:" in value else f"{name}={account[0]}"
        )
    assert len(flags) == 4
    binary = built("victoria-logs") / "victoria-logs"
    command = [binary, f"-httpListenAddr=127.0.0.1:{port}", f"-storageDataPath={folder / 'data'}", *flags]
    store = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def asked(account, path, body=None):
        request = Request(f"http://127.0.0.1:{port}{path}", data=body)
        request.add_header("Content-Type", "application/stream+json")
        request.add_header("Authorization", "Basic " + base64.b64encode(":".join(account).encode()).decode())
        try:
            with urlopen(request, timeout=20) as answer:  # noqa: S310  loopback
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, ""

    try:
        for _ in range(200):
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except URLError:
                time.sleep(0.2)
        yield asked
    finally:
        store.terminate()
        store.wait(30)


def test_a_node_sends_lines_and_reads_none(ask):
    assert ask(SHIPPER, INSERT, LINE)[0] == 200
    for path in (
        "/select/logsql/query?query=*",
        "/select/vmui/",
        "/metrics",
        "/flags",
        "/select/logsql/tail?query=*",
    ):
        assert ask(SHIPPER, path)[0] == 401, path
    for _ in range(100):
        status, reply = ask(READER, "/select/logsql/query?query=*")
        assert status == 200
        if "a line" in reply:
            break
        time.sleep(0.2)
    assert "a line" in reply


def test_an_older_shipper_still_sends_and_strangers_do_not(ask):
    assert ask(READER, INSERT, LINE)[0] == 200
    for account in (("shipper", ""), ("shipper", "read"), ("avadm", "send"), ("", "")):
        assert ask(account, INSERT, LINE)[0] == 401
