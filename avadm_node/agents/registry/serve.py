"""Tells the platform's API what owners have in the registry, and ends what they send beyond it.

By HTTPS alone, to one certificate alone: GET /owners/users/NAME and /owners/groups/NAME. Counted when it is asked, where
the bytes lie: there is no copy that could be old. Python 3.5 or later.
"""

import argparse
import json
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

from ...serving import SILENCE_S, Server
from . import cut
from .account import Account, limit
from .storage import Storage, is_owner

REMEMBERED = 1000
"""Owners whose last count is kept."""
EVERY_S = 5
"""Between two looks at what is being sent."""
PATIENCE = 20
"""So many times as long as a look took there is at least none: counting never takes more than a twentieth of a processor."""


def settings(path):
    """Return the settings of a file: listen, storage, certificate, key, clients, client, limits, room_percent."""
    with open(path) as file:
        return dict(json.load(file))


def answer(storage, limits, percent, owner):
    """Return the usage of an owner."""
    account = Account(storage, owner)
    return {
        "owner": owner,
        "limit": limit(owner, limits),
        "used": account.used,
        "waiting": account.waiting,
        "countless": account.countless,
        "room": cut.room(storage.root, percent),
        "images": account.images,
    }


class Secured(Server):
    """Answers by TLS."""

    def __init__(self, address, handler, context):
        Server.__init__(self, address, handler)
        # The handshake belongs to the connection's own thread: one that says nothing does not delay others.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request, client_address):
        """Say in one line what went wrong with a connection: strangers' handshakes are no news."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            sys.stderr.write("%s: %s: %s\n" % (client_address[0], type(error).__name__, error))


def handler(storage, limits, percent, client):
    """Return the class that answers; ``client`` is the common name of who may ask."""
    counting, kept = threading.Lock(), {}

    def usage_of(owner):
        """Return the usage of an owner; the same again for twice as long as the processor took to count it.

        One at a time: many questions at once are no reason for many readers of the disk, nor for a processor's whole time.
        """
        with counting:
            until, found = kept.get(owner, (0, None))
            if time.monotonic() >= until:
                begun = time.process_time()
                found = answer(storage, limits, percent, owner)
                if len(kept) >= REMEMBERED:
                    kept.clear()
                kept[owner] = time.monotonic() + 2 * (time.process_time() - begun), found
            return found

    class Answer(BaseHTTPRequestHandler):
        """One connection."""

        timeout = SILENCE_S
        protocol_version = "HTTP/1.1"

        def setup(self):
            """Make sure who it is."""
            self.request.settimeout(SILENCE_S)
            self.request.do_handshake()
            BaseHTTPRequestHandler.setup(self)

        def do_GET(self):
            """Answer with an owner's account."""
            owner = self.path[len("/owners/") :] if self.path.startswith("/owners/") else ""
            if client not in common_names(self.request.getpeercert()):
                self.say(403, {"error": "another certificate than %s's" % client})
            elif not is_owner(owner):
                self.say(404, {"error": "no owner"})
            else:
                try:
                    found = self.usage_of(owner)
                except (OSError, ValueError, KeyError, TypeError) as error:
                    sys.stderr.write("%s: %s\n" % (owner, error))
                    self.say(503, {"error": "the storage cannot be read"})
                else:
                    self.say(200, found)

        def say(self, code, data):
            """Send a document."""
            text = json.dumps(data).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format_, *args):
            """Say nothing of each question."""

    Answer.usage_of = staticmethod(usage_of)
    return Answer


def common_names(certificate):
    """Return the common names of a certificate's subject."""
    return [v for part in certificate.get("subject", ()) for k, v in part if k == "commonName"]


def context(given):
    """Return how connections are secured: with a certificate of the readers' authority alone."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=given["clients"])
    made.load_cert_chain(given["certificate"], given["key"])
    made.verify_mode = ssl.CERT_REQUIRED
    return made


def watch(storage, limits, percent, note):
    """Look at what is being sent, for ever."""
    while True:
        begun = time.monotonic()
        try:
            cut.look(storage, limits, percent, note)
        except Exception as error:
            note("what is being sent cannot be looked at: %s" % error)
        time.sleep(max(EVERY_S, PATIENCE * (time.monotonic() - begun)))


def say(text):
    """Write a line to the journal."""
    sys.stderr.write(text + "\n")


def main():
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "settings", help="JSON file: listen, storage, certificate, key, clients, client, limits, room_percent"
    )
    given = settings(parser.parse_args().settings)
    limits, percent = given["limits"], int(given["room_percent"])
    # Two of them: what is remembered of manifests is not shared between threads.
    watched, report = Storage(given["storage"]), Storage(given["storage"])
    threading.Thread(target=watch, args=(watched, limits, percent, say), daemon=True).start()
    address, _, port = given["listen"].rpartition(":")
    made = handler(report, limits, percent, given["client"])
    Secured((address, int(port)), made, context(given)).serve_forever()
