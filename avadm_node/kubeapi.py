"""Kubernetes' API as a client with a certificate sees it; Python 3.5 or later, without further libraries."""

import json
import ssl
from http.client import HTTPException, HTTPSConnection
from urllib.parse import urlsplit


class ApiError(Exception):
    """The API refused; `status` is HTTP's, 0 where it did not answer."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Api:
    """Kubernetes' API, with a client certificate."""

    def __init__(self, config):
        self.host = urlsplit(config["server"]).netloc
        self.context = ssl.create_default_context(cafile=config["authority"])
        self.context.load_cert_chain(config["certificate"], config["key"])

    def _send(self, method, path, body=None, seconds=30):
        link = HTTPSConnection(self.host, timeout=seconds, context=self.context)
        try:
            text = None if body is None else json.dumps(body)
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            link.request(method, path, text, {"Content-Type": kind})
            answer = link.getresponse()
        except (OSError, HTTPException) as error:
            link.close()
            raise ApiError(0, "the API does not answer: %s" % error)
        if answer.status >= 300:
            text = answer.read(2000).decode("utf-8", "replace")
            link.close()
            raise ApiError(answer.status, "%s %s: %d %s" % (method, path, answer.status, text))
        return link, answer

    def call(self, method, path, body=None):
        """Return the answer's object; ApiError."""
        link, answer = self._send(method, path, body)
        try:
            return json.loads(answer.read().decode("utf-8"))
        except (OSError, HTTPException, ValueError) as error:
            raise ApiError(0, "the API's answer broke off: %s" % error)
        finally:
            link.close()

    def watch(self, path, since="", seconds=240):
        """Yield each change (its type and object) since a version of the list, until the API ends the stream.

        Args:
            path: the list.
            since: resourceVersion of the list; "" begins with all that is there.
            seconds: when the API ends the stream.
        """
        query = "?watch=true&timeoutSeconds=%d&resourceVersion=%s" % (seconds, since)
        link, answer = self._send("GET", path + query, seconds=seconds + 60)
        try:
            for line in answer:
                yield json.loads(line.decode("utf-8"))
        except (OSError, HTTPException, ValueError) as error:
            raise ApiError(0, "a watch broke off: %s" % error)
        finally:
            link.close()
