"""A daemon that asks who speaks to it: it is ready for who shows a certificate of its authority, in a real handshake."""

import http.server
import ssl
import threading
from pathlib import Path

import pytest
from avadm_daemon import answers

from avadm.pki import certs
from avadm.pki.model import Authority, Leaf

NOW = certs.now()
DAEMON = Leaf("daemon", Authority.MONITORING, "daemon", "daemon", addresses=("127.0.0.1",), server=True)
OTHER = Leaf("other", Authority.MONITORING, "other", "other")


@pytest.fixture
def files(tmp_path):
    """Return a function that writes what a leaf of an authority shows: ca (always the first authority's), certificate, key."""
    ca_key = certs.new_key()
    ca = certs.authority("monitoring", ca_key, NOW)

    def write(leaf, by=ca, by_key=ca_key):
        key = certs.new_key()
        texts = {"ca": ca, "certificate": certs.leaf(leaf, key, by, by_key, NOW, 1), "key": certs.pem_of(key)}
        found = {kind: str(tmp_path / f"{leaf.name}.{kind}") for kind in texts}
        for kind, text in texts.items():
            Path(found[kind]).write_text(text)
        return found

    return write


def test_who_shows_no_certificate_or_one_of_another_authority_is_not_answered(files):
    own = files(DAEMON)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=own["ca"])
    context.load_cert_chain(own["certificate"], own["key"])
    context.verify_mode = ssl.CERT_REQUIRED

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{server.server_port}/"
    other_key = certs.new_key()
    try:
        assert answers(url, own) is None
        assert answers(url, files(OTHER)) is None
        assert answers(url, files(OTHER, certs.authority("else", other_key, NOW), other_key)) is not None
        assert answers(url) is not None
        assert answers(url.replace("https", "http")) is not None
    finally:
        server.shutdown()
        server.server_close()
