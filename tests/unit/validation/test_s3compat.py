"""The boto3 of today against a gateway that, like ceph's, takes no body whose length is not reported."""

import http.server
import json
import ssl
import subprocess
import threading
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

from avadm.components.objects.variables import SETTINGS as RENDERED
from avadm_validation.suites.objects.checks.client_compat import tried
from avadm_validation.suites.objects.extract import s3_today
from avadm_validation.suites.objects.store import SETTINGS


class Gateway(http.server.BaseHTTPRequestHandler):
    """Just enough of S3 for the tool; objects lie in ``kept``."""

    protocol_version = "HTTP/1.1"
    kept, parts = {}, {}

    def log_message(self, *args):
        """Say nothing."""

    def say(self, status, body=b"", **headers):
        """Answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def do_PUT(self):
        """Make a bucket, or keep an object or a part."""
        if "Content-Length" not in self.headers:
            while size := int(self.rfile.readline().split(b";")[0], 16):
                self.rfile.read(size + 2)
            while self.rfile.readline().strip():  # the checksum, after the body
                pass
            self.say(411, b"<Error><Code>MissingContentLength</Code></Error>")
            return
        data, parts = self.rfile.read(int(self.headers["Content-Length"])), urlsplit(self.path)
        query, key = parse_qs(parts.query), unquote(parts.path)
        if "partNumber" in query:
            self.parts[int(query["partNumber"][0])] = data
        elif key.count("/") > 1:
            self.kept[key] = data
        self.say(200, ETag='"e"')

    def do_POST(self):
        """Begin or end an upload in parts."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlsplit(self.path)
        if "uploads" in parts.query:
            self.say(
                200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
            )
            return
        self.kept[unquote(parts.path)] = b"".join(self.parts[n] for n in sorted(self.parts))
        self.say(200, b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")

    def do_GET(self):
        """Show an object, or what there is."""
        key = unquote(urlsplit(self.path).path)
        if key in self.kept:
            self.say(200, self.kept[key], ETag='"e"')
            return
        names = "".join(f"<Contents><Key>{escape(k.rsplit('/', 1)[1])}</Key></Contents>" for k in self.kept)
        self.say(200, f"<ListBucketResult>{names}</ListBucketResult>".encode())

    def do_DELETE(self):
        """Remove."""
        self.kept.pop(unquote(urlsplit(self.path).path), None)
        self.say(204)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A job for the tool, at a gateway over TLS."""
    folder = tmp_path_factory.mktemp("tls")
    make = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    )
    done = [*make.split(), "-keyout", folder / "s.key", "-out", folder / "s.crt"]
    subprocess.run(done, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "s.crt", folder / "s.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {
        "endpoint": f"https://127.0.0.1:{server.server_port}",
        "region": "default",
        "keys": ["A" * 20, "s" * 40],
        "ca": str(folder / "s.crt"),
        "bucket": "b",
    }
    server.shutdown()


def test_with_the_setting_all_is_read_as_written(job):
    reply = tried(job, SETTINGS)
    assert s3_today({"doc": [reply]}, {}) == 1, reply
    assert "s" * 40 not in reply


def test_without_the_setting_it_is_refused(job):
    reply = tried(job, {})
    assert json.loads(reply)["error"] == "MissingContentLength"
    assert s3_today({"doc": [reply]}, {}) == 0


def test_what_clients_are_reported_is_what_acceptance_uses():
    assert RENDERED == SETTINGS
