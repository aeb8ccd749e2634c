"""The lab's site files, with the parts that a test wants."""

import base64

import pytest

from avadm.lab.layout import Config, nodes
from avadm.lab.sitefile import text
from avadm.sitefile.load import load

KEY = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()


@pytest.fixture
def site(tmp_path):
    def made(parts):
        config = Config(parts=parts)
        labs = nodes(config)
        path = tmp_path / "site.yml"
        path.write_text(
            text(config, labs, {n.name: f"ssh-ed25519 {KEY}" for n in labs}, "http://10.77.0.1:3142")
        )
        return load(path)

    return made
