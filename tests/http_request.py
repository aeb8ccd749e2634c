"""One HTTP request to a host that no resolver knows."""

import http.client
import socket


def ask(host, address, token=None, path="/", context=None, **headers):
    """Return status, headers and body of one request on a connection of its own; nothing is tried twice.

    Args:
        host: whose answer is wanted, in the request and in the certificate.
        address: IP address and port that are connected to.
        context: of TLS; None: HTTP.
    """
    made = (
        http.client.HTTPSConnection(host, context=context, timeout=15)
        if context
        else http.client.HTTPConnection(host, timeout=15)
    )
    made._create_connection = lambda *_, **__: socket.create_connection(address, 15)
    try:
        report = {"Authorization": f"Bearer {token}"} if token else {}
        made.request("GET", path, headers=report | headers)
        answer = made.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        made.close()
