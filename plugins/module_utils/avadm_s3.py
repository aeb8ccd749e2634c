# Runs on nodes: python 2.7 and 3.
"""Signed requests to an S3 store with nothing but the standard library; for the little that the installer asks of one.

Signatures are of version 4 (AWS, "Authenticating Requests: Using the Authorization Header"), addresses path-style.
"""

from __future__ import absolute_import, division, print_function

import base64
import hashlib
import hmac
import socket
import ssl
import time

try:
    from http.client import HTTPException, HTTPSConnection
    from urllib.parse import quote, urlsplit
except ImportError:  # python 2.7
    from urllib import quote

    from httplib import HTTPException, HTTPSConnection
    from urlparse import urlsplit

EMPTY = hashlib.sha256(b"").hexdigest()


class S3Error(Exception):
    """The store refused, or does not answer; the text is for people."""


def _mac(key, text):
    return hmac.new(key, text.encode("utf-8"), hashlib.sha256).digest()


def canonical_query(query):
    """Return a query as it is signed and sent: sorted, every value escaped."""
    pairs = sorted((quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in query.items())
    return "&".join("%s=%s" % pair for pair in pairs)


def authorization(method, path, query, headers, payload, keys, region):
    """Return the header `Authorization` of a request.

    Args:
        method: e.g. GET.
        path: escaped path, from the slash on.
        query: name to value.
        headers: all headers that are signed, in lower case; with host, x-amz-date and x-amz-content-sha256.
        payload: sha256 of the body, hex.
        keys: access key, secret key.
        region: region to sign for.
    """
    names = ";".join(sorted(headers))
    lines = "".join("%s:%s\n" % (name, headers[name].strip()) for name in sorted(headers))
    request = "\n".join([method, path, canonical_query(query), lines, names, payload])
    when = headers["x-amz-date"]
    scope = "%s/%s/s3/aws4_request" % (when[:8], region)
    digest = hashlib.sha256(request.encode("utf-8")).hexdigest()
    key = ("AWS4" + keys[1]).encode("utf-8")
    for part in (when[:8], region, "s3", "aws4_request"):
        key = _mac(key, part)
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope, digest])
    signature = hmac.new(key, text.encode("utf-8"), hashlib.sha256).hexdigest()
    return "AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s" % (
        keys[0],
        scope,
        names,
        signature,
    )


class S3(object):
    """One store, as one user.

    Args:
        endpoint: URL, https://HOST or https://HOST:PORT.
        keys: access key, secret key.
        region: region to sign for.
        ca: certificates of the authority, PEM; "" for those that the system trusts.
        connect: address to connect to in place of the name's; the certificate is judged by the name all the same.
        timeout: seconds that an answer may take.
    """

    def __init__(self, endpoint, keys, region, ca="", connect="", timeout=30):
        parts = urlsplit(endpoint)
        if parts.scheme != "https":
            raise S3Error("%s: only https is spoken" % endpoint)
        self.host, self.port, self.netloc = parts.hostname, parts.port or 443, parts.netloc
        self.keys, self.region, self.connect, self.timeout = keys, region, connect, timeout
        self.tls = ssl.create_default_context(cadata="" + ca) if ca else ssl.create_default_context()

    def open(self):
        """Return a connection whose certificate is that of the endpoint's name."""
        connection = HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.tls)
        if self.connect:
            raw = socket.create_connection((self.connect, self.port), self.timeout)
            connection.sock = self.tls.wrap_socket(raw, server_hostname=self.host)
        return connection

    def ask(self, method, bucket, query=None, body=b""):
        """Send a request about a bucket; return status and text.

        Raises:
            S3Error: no server answers, or not with the right certificate.
        """
        query, path = query or {}, "/" + quote(bucket, safe="-_.~")
        payload = hashlib.sha256(body).hexdigest()
        headers = {
            "host": self.netloc,
            "x-amz-content-sha256": payload,
            "x-amz-date": time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()),
        }
        if body:
            # Asked for by the rules of a bucket (PutBucketLifecycle), and read by none of the others.
            headers["content-md5"] = base64.b64encode(hashlib.md5(body).digest()).decode("ascii")
        headers["Authorization"] = authorization(
            method, path, query, dict(headers), payload, self.keys, self.region
        )
        text = canonical_query(query)
        try:
            connection = self.open()
            try:
                connection.request(method, path + ("?" + text if text else ""), body, headers)
                answer = connection.getresponse()
                return answer.status, answer.read().decode("utf-8", "replace")
            finally:
                connection.close()
        except (EnvironmentError, HTTPException) as error:
            raise S3Error("%s does not answer: %s" % (self.connect or self.host, error))
