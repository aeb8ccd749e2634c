"""An OpenID Connect provider with TLS: oidc-provider-mock (Authlib's server side), which here insists on PKCE as well."""

import io
import json
import logging
import threading
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import httpx
import oidc_provider_mock
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from werkzeug.serving import make_server

from bench.control_plane import Authority


class Pkce:
    """The provider's application, which gives nothing for a code without the verifier of its challenge (RFC 7636).

    Attributes:
        begun: query of each login that was begun, by its code.
        exchanged: header and form of each request for tokens.
    """

    def __init__(self, app):
        self.app, self.begun, self.exchanged = app, {}, []

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/oauth2/token" and (refused := self._wrong(environ)):
            body = json.dumps({"error": "invalid_grant", "error_description": refused}).encode()
            start_response("400 Bad Request", [("Content-Type", "application/json")])
            return [body]
        asked = {k: v[0] for k, v in parse_qs(environ.get("QUERY_STRING", "")).items()}

        def answer(status, headers, *more):
            query = parse_qs(urlsplit(dict(headers).get("Location", "")).query)
            if environ["PATH_INFO"] == "/oauth2/authorize" and "code" in query:
                self.begun[query["code"][0]] = asked
            return start_response(status, headers, *more)

        return self.app(environ, answer)

    def _wrong(self, environ):
        raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(raw)
        form = {k: v[0] for k, v in parse_qs(raw.decode()).items()}
        self.exchanged.append((environ.get("HTTP_AUTHORIZATION", ""), form))
        begun = self.begun.get(form.get("code", ""), {})
        if begun.get("code_challenge_method") != "S256":
            return "no S256 challenge"
        right = create_s256_code_challenge(form.get("code_verifier", "")) == begun.get("code_challenge")
        return "" if right else "another verifier"


class Provider:
    """One provider at an address of this machine; who is in it says ``people``.

    Args:
        folder: for certificates.
        address: that it listens at.
        people: name to further claims; the subject is ``s-NAME``.

    Attributes:
        ca: certificate of its authority.
        client, secret: of the one client that it knows, once ``register`` was called.
    """

    def __init__(self, folder, address, people):
        self.address, self.port, self.server = address, 0, None
        for name in ("own", "others"):
            (folder / name).mkdir()
            Authority(folder / name).issue("server", "localhost", address=address)
        self.folder, self.ca = folder, folder / "own/ca.crt"
        users = [
            oidc_provider_mock.User(
                sub=f"s-{name}",
                claims={"preferred_username": name, "email": f"{name}@example.org", **claims},
            )
            for name, claims in people.items()
        ]
        self.app = Pkce(
            oidc_provider_mock.app(require_client_registration=True, require_nonce=True, user_claims=users)
        )

    @property
    def issuer(self):
        return f"https://{self.address}:{self.port}"

    def start(self, authority="own"):
        """Listen, with a certificate of this authority; at the same port as before."""
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        tls = tuple(str(self.folder / authority / f"server.{end}") for end in ("crt", "key"))
        self.server = make_server(self.address, self.port, self.app, threaded=True, ssl_context=tls)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    @contextmanager
    def away(self):
        """Not be there meanwhile."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def strange(self):
        """Show a certificate of another authority meanwhile, for the same address."""
        self.stop()
        self.start("others")
        try:
            yield
        finally:
            self.stop()
            self.start()

    def register(self, callback):
        """Make the client that sends people back to an address."""
        answer = httpx.post(
            f"{self.issuer}/oauth2/clients",
            json={"redirect_uris": [callback]},
            verify=str(self.ca),
            trust_env=False,
        )
        answer.raise_for_status()
        self.client, self.secret = (answer.json()[k] for k in ("client_id", "client_secret"))
