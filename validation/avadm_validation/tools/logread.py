"""Reads a store of logs on its own node until lines are there, or time is up. Python 2.7 or later; for `python -`.

JOB (JSON, put before this text): url, user, marker (a word that all lines hold), wanted (how many), wait_s. Prints JSON:
{"found": {TEXT: seconds from when it was written to when it was first seen}, "asked": times, "error": the last one or ""}.
"""

import base64
import io
import json
import ssl
import sys
import time

try:
    from http.client import HTTPSConnection
    from urllib.parse import urlencode
    from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener
except ImportError:
    from urllib import urlencode

    from httplib import HTTPSConnection
    from urllib2 import HTTPSHandler, ProxyHandler, Request, build_opener

PASSWORD, AUTHORITY = "/etc/avadm/logs/store.password", "/etc/avadm/logs/ca.crt"


class Connection(HTTPSConnection):
    """Python 2.7 knows no addresses in certificates: they are looked at here."""

    def connect(self):
        HTTPSConnection.connect(self)
        shown = [value for _kind, value in self.sock.getpeercert().get("subjectAltName", ())]
        if not self._context.check_hostname and self.host not in shown:
            raise IOError("the certificate is of %s" % (", ".join(shown) or "no host"))


class Handler(HTTPSHandler):
    """Opens such connections."""

    def https_open(self, request):
        return self.do_open(Connection, request, context=self._context)


def ask(job):
    """Return the rows of all lines with the marker."""
    word = job["user"] + ":" + io.open(PASSWORD).read().strip()
    head = {"Authorization": "Basic " + base64.b64encode(word.encode()).decode()}
    query = '_time:1h _msg:"%s" | fields _msg' % job["marker"]
    body = urlencode({"query": query, "limit": "100000"}).encode()
    context = ssl.create_default_context(cafile=AUTHORITY)
    context.check_hostname = sys.version_info[0] > 2
    opener = build_opener(ProxyHandler({}), Handler(context=context))
    text = opener.open(Request(job["url"] + "/select/logsql/query", body, head), timeout=20).read()
    return [json.loads(row) for row in text.decode("utf-8", "replace").split("\n") if row.strip()]


def main(job):
    """Ask once a second until all are there."""
    found, error, asked, end = {}, "", 0, time.time() + job["wait_s"]
    while True:
        asked += 1
        try:
            now_error = ""
            for row in ask(job):
                text = row["_msg"]
                # The line's last word is when it was written, by its node's clock.
                found.setdefault(text, time.time() - float(text.split()[-1]))
        except Exception as why:
            now_error = str(why)
        error = now_error
        if len(found) >= job["wanted"] or time.time() > end:
            break
        time.sleep(1)
    json.dump({"found": found, "asked": asked, "error": error}, sys.stdout, sort_keys=True)


main(JOB)  # noqa: F821
