#!/usr/bin/env python3
"""Asks an S3 store as programs of today do: with the boto3 of this Python, in its usual way.

Runs on the controller, as a process of its own, since boto3 reads its settings from the environment.

Reads a job (JSON, with the keys) from standard input, prints one JSON document without them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from typing import Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

SETTING = "AWS_REQUEST_CHECKSUM_CALCULATION"
PART = 5 << 20


def digest(data: bytes) -> str:
    """Return the hex sha256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def try_all(s3: Any, bucket: str) -> dict[str, Any]:
    """Write an object in one request, one in parts and one from a stream; read them, remove them."""
    contents = {"one": b"today" * 1000, "parts": b"part of today " * 500_000, "empty": b""}
    doc: dict[str, Any] = {"wanted": {k: digest(v) for k, v in contents.items()}, "got": {}, "listed": []}
    s3.create_bucket(Bucket=bucket)
    try:
        for key, data in contents.items():
            if key == "parts":
                config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, use_threads=False)
                s3.upload_fileobj(io.BytesIO(data), bucket, key, Config=config)
            else:
                s3.put_object(Bucket=bucket, Key=key, Body=data)
        for key in contents:
            doc["got"][key] = digest(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
        doc["listed"] = sorted(o["Key"] for o in s3.list_objects_v2(Bucket=bucket).get("Contents", []))
    finally:
        for key in contents:
            s3.delete_object(Bucket=bucket, Key=key)
        s3.delete_bucket(Bucket=bucket)
    return doc


def main() -> int:
    """Try it; what the store refuses is an answer, not an error of this program."""
    job = json.load(sys.stdin)
    retries: dict[str, Any] = {"max_attempts": 2}
    s3 = boto3.client(
        "s3",
        endpoint_url=job["endpoint"],
        region_name=job["region"],
        aws_access_key_id=job["keys"][0],
        aws_secret_access_key=job["keys"][1],
        verify=job["ca"] or True,
        config=Config(s3={"addressing_style": "path"}, connect_timeout=10, read_timeout=60, retries=retries),
    )
    doc: dict[str, Any] = {"wanted": {}, "got": {}, "listed": []}
    try:
        doc = try_all(s3, job["bucket"])
        doc["error"] = ""
    except Exception as error:  # whatever it is, it is what a user's program would see
        answer = getattr(error, "response", None) or {}
        doc["error"] = str(answer.get("Error", {}).get("Code") or type(error).__name__)
    print(json.dumps({"boto3": boto3.__version__, "setting": os.environ.get(SETTING, ""), **doc}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
