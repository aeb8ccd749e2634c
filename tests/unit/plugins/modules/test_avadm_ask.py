"""What avadm_ask takes for an answer, under each Python of nodes that is here: also 2.7, to which addresses say nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.fakes.builders import Signer, https
from tests.unit.fakes.running import module

UTILS = Path(__file__).parents[4] / "plugins/module_utils"
# The module's question in an interpreter of its own; `blind` is 2.7's not knowing addresses.
ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import avadm_ask
if sys.argv[4] == "blind":
    class Old(object):
        version_info = (2, 7)
    avadm_ask.sys = Old
print(json.dumps(avadm_ask.ask(sys.argv[2], json.loads(sys.argv[3]))))
"""


def works(python):
    found = shutil.which(python)
    return (
        found
        and subprocess.run([found, "-c", "import ssl"], capture_output=True, check=False).returncode == 0
    )


PYTHONS = [
    (sys.executable, "sees"),
    (sys.executable, "blind"),
    *((p, "sees") for p in ["python2.7"] if works(p)),
]


@pytest.fixture(params=PYTHONS, ids=lambda p: f"{Path(p[0]).name}-{p[1]}")
def ask(request, tmp_path):
    """Return a function that asks a daemon with a certificate of that address and those names."""
    python, sight = request.param

    def ask(address="127.0.0.1", names=(), by="127.0.0.1", shown=True, **more):
        kinds = ("ca", "certificate", "key")
        tls = dict(zip(kinds, Signer().write(tmp_path, "daemon", None, address, names), strict=True))
        with https(tls["certificate"], tls["key"], b'{"peers": 2}', clients=tls["ca"], **more) as port:
            given = json.dumps(tls if shown else {"ca": tls["ca"]})
            reply = subprocess.run(
                [python, "-c", ASK, str(UTILS), f"https://{by}:{port}/", given, sight],
                capture_output=True, text=True, check=True, env={**os.environ, "https_proxy": "http://127.0.0.1:1"},
            )  # fmt: skip
        return json.loads(reply.stdout)

    return ask


def test_a_daemon_is_asked_by_an_address_of_its_certificate(ask):
    assert ask() == [200, '{"peers": 2}']
    assert ask(status=503)[0] == 503


@pytest.mark.parametrize("names", [(), ("localhost",)])
def test_one_with_a_certificate_for_another_address_is_refused(ask, names):
    status, why = ask("127.0.0.2", names)
    assert status == -1
    assert "certificate" in why


@pytest.mark.parametrize(("names", "status"), [(("localhost",), 200), (("another",), -1)])
def test_a_name_is_held_against_the_certificate_too(ask, names, status):
    assert ask(names=names, by="localhost")[0] == status


def test_who_shows_no_certificate_is_not_answered(ask):
    assert ask(shown=False)[0] == -1


def test_json_is_given_and_another_status_than_wanted_fails_with_what_was_shown(tmp_path):
    ca, certificate, key = Signer().write(tmp_path, "daemon")
    for body, more in ((b'{"a": 1}', {"json": {"a": 1}}), (b"OK", {})):
        with https(certificate, key, body) as port:
            url = f"https://127.0.0.1:{port}/"
            reply, _ = module("avadm_ask", url=url, tls={"ca": ca})
            del reply["invocation"]
            assert reply == {"status": 200, "changed": False, **more}
            refused, _ = module("avadm_ask", url=url, tls={"ca": ca}, status=[404])
    assert refused["failed"]
    assert refused["msg"] == f"{url} answers with 200, wanted 404: OK"
    gone, _ = module("avadm_ask", url=url, tls={"ca": ca})
    assert (gone["failed"], gone["status"]) == (True, -1)
    assert "does not answer" in gone["msg"]
