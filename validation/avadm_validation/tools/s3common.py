#!/usr/bin/env python
"""A client of boto3 and what is read and written with it. Used by s3client.py and s3load.py beside it; Python 2.7 and 3."""

from __future__ import print_function

import hashlib

DOWNLOADS = 5  # times that an object is asked for, as in boto3's TransferConfig


def client(job, keys=None, endpoint=None, attempts=5):
    """Return a client of boto3; without keys no one signs."""
    import boto3
    from botocore import UNSIGNED
    from botocore.config import Config

    keys = job["keys"] if keys is None else keys
    config = Config(
        signature_version="s3v4" if keys else UNSIGNED,
        s3={"addressing_style": "path"},
        connect_timeout=5,
        read_timeout=job.get("read_timeout_s", 60),
        retries={"max_attempts": attempts},
    )
    return boto3.client(
        "s3",
        endpoint_url=endpoint or job["endpoint"],
        region_name=job["region"],
        aws_access_key_id=keys[0] if keys else None,
        aws_secret_access_key=keys[1] if keys else None,
        verify=job["ca"] or True,
        config=config,
    )


def code_of(error):
    """Return the code that the store answered with, else what went wrong."""
    answer = getattr(error, "response", None) or {}
    return str(answer.get("Error", {}).get("Code") or type(error).__name__)


def status_of(error):
    """Return the HTTP status of an error, 0 where there was no answer."""
    answer = getattr(error, "response", None) or {}
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def content(seed, size):
    """Return bytes that a seed stands for."""
    block = hashlib.sha256(str(seed).encode("ascii")).digest()
    return (block * (size // len(block) + 1))[:size]


def digest(data):
    return hashlib.sha256(data).hexdigest()


def body(s3, bucket, key, **more):
    """Return an object's content; asked again when the connection ends within it, as boto3's own downloads do."""
    from botocore.exceptions import HTTPClientError
    from s3transfer.utils import S3_RETRYABLE_DOWNLOAD_ERRORS

    # Of a stream that ends too soon botocore tells by one that older lists of s3transfer do not have.
    again = S3_RETRYABLE_DOWNLOAD_ERRORS + (HTTPClientError,)
    for _ in range(DOWNLOADS - 1):
        try:
            return s3.get_object(Bucket=bucket, Key=key, **more)["Body"].read()
        except again:
            continue
    return s3.get_object(Bucket=bucket, Key=key, **more)["Body"].read()
