"""Archives, certificates and servers of the tests' own."""

import http.server
import io
import ssl
import tarfile
import threading
from contextlib import contextmanager

from avadm.pki import certs
from avadm.pki.model import Authority, Leaf


def tar(path, files):
    """Write an archive of files, name to text or bytes; return its path."""
    with tarfile.open(path, "w") as out:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return path


class Signer:
    """An authority, and what it gives out: files `NAME.ca`, `NAME.crt` and `NAME.key`."""

    def __init__(self, name="test", at=None):
        self.at, self.key = at or certs.now(), certs.new_key()
        self.pem = certs.authority(name, self.key, self.at)

    def leaf(self, name, key, days=1, **more):
        """Return the certificate of a key."""
        wanted = Leaf(name, Authority.ETCD_PEERS, name, name, **more)
        return certs.leaf(wanted, key, self.pem, self.key, self.at, days)

    def write(self, folder, name, trusted=None, address="127.0.0.1", names=()):
        """Write what a server shows and trusts; return the paths of (authority, certificate, key)."""
        key = certs.new_key()
        pem = self.leaf(name, key, addresses=(address,), names=names, server=True)
        texts = {"ca": (trusted or self).pem, "crt": pem, "key": certs.pem_of(key)}
        for end, text in texts.items():
            (folder / f"{name}.{end}").write_text(text)
        return [str(folder / f"{name}.{end}") for end in texts]


@contextmanager
def https(certificate, key, body=b"", clients=None, status=200, newest=ssl.TLSVersion.TLSv1_3):
    """Answer over TLS on this machine; `clients`: the authority of those who are let in. Yields the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = newest
    context.load_cert_chain(certificate, key)
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
