"""An HTTP server that strangers cannot wear out. Python 3.5 or later."""

import threading
from http.server import HTTPServer
from socketserver import ThreadingMixIn

SILENCE_S = 10
"""An idle connection is closed."""
CONNECTIONS = 32
"""At once; anyone who comes beside them is turned away."""


class Server(ThreadingMixIn, HTTPServer):
    """Answers each connection by itself: one that says nothing does not delay others; with a limit, as threads are memory."""

    daemon_threads = True

    def __init__(self, *args):
        self.free = threading.BoundedSemaphore(CONNECTIONS)
        HTTPServer.__init__(self, *args)

    def process_request(self, request, client_address):
        """Answer in a thread of its own, where one may still be made."""
        if not self.free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            ThreadingMixIn.process_request(self, request, client_address)
        except BaseException:
            self.free.release()
            raise

    def process_request_thread(self, request, client_address):
        """Answer, and make room for the next."""
        try:
            ThreadingMixIn.process_request_thread(self, request, client_address)
        finally:
            self.free.release()
