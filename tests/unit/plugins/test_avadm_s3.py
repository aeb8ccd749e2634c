"""avadm_s3: signatures as AWS' own examples have them; TLS alone."""

import hashlib

import pytest
from ansible.module_utils.avadm_s3 import EMPTY, S3, S3Error, authorization, canonical_query

# The example account and requests of "Signature Calculations for the Authorization Header" (AWS S3 API reference).
KEYS = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
HEADERS = {"host": "examplebucket.s3.amazonaws.com", "x-amz-content-sha256": EMPTY}
HEADERS["x-amz-date"] = "20130524T000000Z"
RANGE, LIFE = {"range": "bytes=0-9"}, {"lifecycle": ""}
LIST = {"max-keys": "2", "prefix": "J"}


@pytest.mark.parametrize(
    ("path", "query", "headers", "signature"),
    [
        ("/test.txt", {}, RANGE, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        ("/", LIFE, {}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("/", LIST, {}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_signatures_are_those_of_the_published_examples(path, query, headers, signature):
    made = authorization("GET", path, query, {**HEADERS, **headers}, EMPTY, KEYS, "us-east-1")
    assert made.endswith(f"Signature={signature}")
    assert f"Credential={KEYS[0]}/20130524/us-east-1/s3/aws4_request" in made


def test_queries_are_sorted_and_escaped():
    assert canonical_query({"b": "x y", "a": "/~"}) == "a=%2F~&b=x%20y"
    assert hashlib.sha256(b"").hexdigest() == EMPTY


def test_plain_http_is_not_spoken():
    with pytest.raises(S3Error, match="only https"):
        S3("http://objects.test", KEYS, "default")
