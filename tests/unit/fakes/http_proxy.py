"""A real HTTP proxy on this machine: it answers for any host itself, so that what it was asked came by it."""

import contextlib
import http.server
import select
import socket
import threading


@contextlib.contextmanager
def http_proxy(answers=None, tunnels=None):
    """Run a proxy; yield its URL and the list of what it was asked, METHOD and address.

    Args:
        answers: address to the body of its answer; 404 for others.
        tunnels: HOST:PORT of a CONNECT to the port of this machine where it leads; 502 for others.
    """
    asked = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(f"GET {self.path}")
            body = (answers or {}).get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body or b"")

        do_HEAD = do_GET

        def do_CONNECT(self):
            asked.append(f"CONNECT {self.path}")
            port = (tunnels or {}).get(self.path)
            if port is None:
                self.send_error(502)
                return
            with socket.create_connection(("127.0.0.1", port)) as there:
                self.send_response(200)
                self.end_headers()
                pair = {self.connection: there, there: self.connection}
                while True:
                    for ready in select.select(list(pair), [], [], 10)[0]:
                        data = ready.recv(65536)
                        if not data:
                            return
                        pair[ready].sendall(data)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
