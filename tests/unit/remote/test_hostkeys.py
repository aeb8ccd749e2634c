"""Files that cannot be used end in a sentence that names them."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import x25519

from avadm.errors import AvadmError
from avadm.remote.connect import ConnectionFailed
from avadm.remote.hostkeys import KnownHosts
from avadm.remote.keyfile import load_key
from avadm.remote.reason import Why
from tests.unit.remote.sshserver import new_key


def finding(caught):
    (found,) = caught.value.findings
    return found


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda path: path.mkdir(), "directory"),
        (lambda path: path.write_bytes(b"n1 ssh-ed25519 \xff\xfe\n"), "UTF-8"),
    ],
    ids=["unreadable", "not utf-8"],
)
def test_known_hosts_that_cannot_be_read(tmp_path, spoil, word):
    path = tmp_path / "known_hosts"
    spoil(path)
    with pytest.raises(AvadmError) as caught:
        KnownHosts(path)
    assert finding(caught).where == str(path)
    assert word in finding(caught).found
    assert finding(caught).remedy


def test_known_hosts_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    known = KnownHosts(tmp_path / "file" / "known_hosts")
    known.pin(["n1"], new_key(tmp_path / "host"))
    with pytest.raises(AvadmError) as caught:
        known.save()
    assert finding(caught).where == str(known.path)
    assert finding(caught).remedy


def test_a_failed_save_leaves_no_file_behind(tmp_path):
    known = KnownHosts(tmp_path / "known_hosts")
    known.pin(["n1"], new_key(tmp_path / "host"))
    before = sorted(tmp_path.iterdir())
    known._added.append("\ud800")  # cannot be encoded
    with pytest.raises(UnicodeEncodeError):
        known.save()
    assert sorted(tmp_path.iterdir()) == before


def test_a_private_key_of_a_type_that_ssh_does_not_know(tmp_path):
    path = tmp_path / "id"
    path.write_bytes(
        x25519.X25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    with pytest.raises(ConnectionFailed, match="no private ssh key") as caught:
        load_key(path)
    assert caught.value.why is Why.NO_KEY


def test_pinned_keys_of_a_node_that_left_are_forgotten_those_of_others_stay(tmp_path):
    path, key = tmp_path / "known_hosts", new_key(tmp_path / "host")
    text = f"{key.get_name()} {key.get_base64()}\n"
    path.write_text(f"# ours\nn1 {text}10.0.0.2,n2 {text}10.0.0.3 {text}")
    known = KnownHosts(path)
    assert not known.forget(["n9"])
    assert known.forget(["n1"])
    assert known.forget(["10.0.0.2"])
    assert path.read_text() == f"# ours\nn2 {text}10.0.0.3 {text}"
    assert known.lookup("n1") == []
    assert known.lookup("n2") == [key]
