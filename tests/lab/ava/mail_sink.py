"""A mail server and a receiver of webhooks of the site's, as the platform's notices reach them: TLS, a password, signatures."""

import hashlib
import hmac
import json
import ssl
import threading
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from bench.control_plane import Authority, free_port


class MailSink:
    """Both, at an address of this machine.

    Args:
        folder: for certificates.
        address: that they listen at.
        user, password: the mail server's.

    Attributes:
        mails: letters that were taken, each with whom it is to.
        posts: documents that were posted, each with its raw bytes and the signature.
    """

    def __init__(self, folder, address, user, password):
        self.address, self.mails, self.posts = address, [], []
        Authority(folder).issue("server", "localhost", address=address)
        self.ca = folder / "ca.crt"
        trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        trust.load_cert_chain(folder / "server.crt", folder / "server.key")

        def known(server, session, envelope, mechanism, data):
            right = (data.login, data.password) == (user.encode(), password.encode())
            return AuthResult(success=right)

        self._smtp = Controller(
            self,
            hostname=address,
            port=free_port(),
            tls_context=trust,
            require_starttls=True,
            authenticator=known,
            auth_required=True,
        )
        posts = self.posts

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                posts.append((json.loads(raw), raw, self.headers["X-AVA-Signature"]))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer((address, 0), Receiver)
        self._http.socket = trust.wrap_socket(self._http.socket, server_side=True)

    async def handle_DATA(self, server, session, envelope):
        letter = message_from_bytes(envelope.content, policy=policy.default)
        self.mails.append((envelope.rcpt_tos, letter))
        return "250 OK"

    def __enter__(self):
        self._smtp.start()
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._smtp.stop()
        self._http.shutdown()
        self._http.server_close()

    @property
    def mail_port(self):
        return self._smtp.port

    @property
    def hook(self):
        return f"https://{self.address}:{self._http.server_port}/ava"


def signed(raw, secret):
    """Return the signature that a document has."""
    return "sha256=" + hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
