"""Tools that speak TLS to an address, under each Python of nodes that is here: also 2.7, to which addresses say nothing."""

import base64
import json
import shutil
import sys
from pathlib import Path

import pytest

import avadm_validation
from tests.unit.fakes.builders import Signer, https
from tests.unit.fakes.running import sh, stub

TOOLS = Path(avadm_validation.__file__).parent / "tools"
# `blind` is 2.7's not knowing addresses.
PYTHONS = [(sys.executable, "sees"), (sys.executable, "blind")]
if (old := shutil.which("python2.7")) and sh(old, "-c", "import ssl").returncode == 0:
    PYTHONS.append((old, "sees"))


@pytest.fixture(params=PYTHONS, ids=lambda p: f"{Path(p[0]).name}-{p[1]}")
def run(request):
    """Return a function that runs a tool's text, with what is replaced in it and what comes after it."""
    python, sight = request.param

    def run(name, more, env=(), **other):
        text = (TOOLS / name).read_text()
        assert "sys.version_info[0] > 2" in text
        if sight == "blind":
            text = text.replace("sys.version_info[0] > 2", "False")
        for old, new in other.items():
            text = text.replace(f'"{old}"', json.dumps(new)) if old in text else text
        done = sh(python, "-", input=more(text), env=env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(("address", "status"), [("127.0.0.1", 200), ("127.0.0.2", 0)])
def test_the_api_is_asked_by_an_address_of_its_certificate_alone(run, tmp_path, address, status):
    paths = Signer().write(tmp_path, "api", address=address)
    data = [base64.b64encode(Path(p).read_bytes()).decode() for p in paths]
    with https(*paths[1:], b'{"kind": "List"}', clients=paths[0]) as port:
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": data[0]}
        user = {"client-certificate-data": data[1], "client-key-data": data[2]}
        config = json.dumps({"clusters": [{"cluster": cluster}], "users": [{"user": user}]})
        env = stub(tmp_path / "bin/kubectl", f"cat <<'END'\n{config}\nEND")
        ask = '\nprint(json.dumps(Api().ask("GET", "/")))\n'
        reply = run("kubeload.py", lambda text: text.partition("\nif __name__ ==")[0] + ask, env)
    assert reply[0] == status
    assert reply[1] == {"kind": "List"} or "certificate" in reply[1]["message"]


@pytest.mark.parametrize(("address", "error"), [("127.0.0.1", ""), ("127.0.0.2", "certificate")])
def test_a_store_of_logs_is_read_by_an_address_of_its_certificate_alone(run, tmp_path, address, error):
    ca, certificate, key = Signer().write(tmp_path, "store", address=address)
    (tmp_path / "password").write_text("p\n")
    places = {"/etc/avadm/logs/store.password": str(tmp_path / "password"), "/etc/avadm/logs/ca.crt": ca}
    with https(certificate, key, b'{"_msg": "m 1"}\n') as port:
        job = {"url": f"https://127.0.0.1:{port}", "user": "u", "marker": "m", "wanted": 1, "wait_s": 0}
        reply = run("logread.py", lambda text: f"import json\nJOB = {job!r}\n{text}", **places)
    assert list(reply["found"]) == ([] if error else ["m 1"])
    assert error in reply["error"]
    assert bool(error) == bool(reply["error"])
