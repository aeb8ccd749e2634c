#!/usr/bin/env python
"""Looks at an S3 store with boto3, a client library that is not ours. Runs on clients; Python 2.7 and 3.

s3client.py VERB: reads a job (JSON, with the keys) from standard input, prints one JSON document without them.
"""

from __future__ import print_function

import json
import sys

try:
    from http.client import HTTPConnection, HTTPException
    from urllib.parse import urlsplit
except ImportError:  # python 2.7
    from httplib import HTTPConnection, HTTPException
    from urlparse import urlsplit

from s3common import body, client, code_of, content, digest, status_of
from s3load import load

PART = 5 << 20  # the least that S3 allows for all parts but the last
PREFIX = "avadm-accept-"


def names(s3, bucket, page):
    """Return all keys of a bucket, asked page by page."""
    found = []
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, PaginationConfig={"PageSize": page})
    for one in pages:
        found += [item["Key"] for item in one.get("Contents", [])]
    return found


def make(s3, bucket):
    """Make a bucket; one of ours that is there is good too."""
    try:
        s3.create_bucket(Bucket=bucket)
    except Exception as error:
        if code_of(error) != "BucketAlreadyOwnedByYou":
            raise


def functions(job):
    """Objects of several sizes, in parts, with former versions: written, read, listed, removed."""
    s3, bucket = client(job), job["bucket"]
    make(s3, bucket)
    # What a try left that was cut.
    empty(s3, bucket)
    wanted, got = {}, {}
    for size in job["sizes"]:
        for i in range(job["each"]):
            # Keys with characters that are escaped on their way.
            key = "dir %d/object+%d~%d" % (i % 3, size, i)
            data = content(key, size)
            wanted[key] = digest(data)
            s3.put_object(Bucket=bucket, Key=key, Body=data)
    for key in wanted:
        got[key] = digest(body(s3, bucket, key))
    doc = {"wanted": wanted, "got": got, "listed": names(s3, bucket, job["page"])}
    doc["multipart"] = multipart(s3, bucket, job["multipart_bytes"])
    doc["versions"] = versions(s3, bucket + "-v")
    for key in list(wanted) + ["parts"]:
        s3.delete_object(Bucket=bucket, Key=key)
    doc["left"] = names(s3, bucket, job["page"])
    try:
        body(s3, bucket, sorted(wanted)[0])
        doc["read_deleted"] = "read"
    except Exception as error:
        doc["read_deleted"] = code_of(error)
    return doc


def multipart(s3, bucket, size):
    """Write an object in parts, read it whole."""
    data = content("parts", size)
    upload = s3.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
    parts = []
    for number, start in enumerate(range(0, size, PART), 1):
        piece = data[start : start + PART]
        made = s3.upload_part(Bucket=bucket, Key="parts", UploadId=upload, PartNumber=number, Body=piece)
        parts.append({"ETag": made["ETag"], "PartNumber": number})
    s3.complete_multipart_upload(
        Bucket=bucket, Key="parts", UploadId=upload, MultipartUpload={"Parts": parts}
    )
    found = body(s3, bucket, "parts")
    return {"parts": len(parts), "bytes": len(found), "wanted": digest(data), "got": digest(found)}


def versions(s3, bucket):
    """Write an object twice and remove it: both contents are still there by their versions."""
    make(s3, bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    texts = [b"first", b"second"]
    made = [s3.put_object(Bucket=bucket, Key="k", Body=text).get("VersionId") for text in texts]
    doc = {"wanted": [digest(text) for text in texts], "latest": digest(body(s3, bucket, "k")), "got": []}
    s3.delete_object(Bucket=bucket, Key="k")
    try:
        body(s3, bucket, "k")
        doc["deleted"] = "read"
    except Exception as error:
        doc["deleted"] = code_of(error)
    for version in made:
        try:
            doc["got"].append(digest(body(s3, bucket, "k", VersionId=version)))
        except Exception as error:
            doc["got"].append(code_of(error))
    return doc


def plain_http(endpoint):
    """Ask without TLS; return the status, 0 for none."""
    parts = urlsplit(endpoint)
    connection = HTTPConnection(parts.hostname, parts.port or 443, timeout=10)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status, ""
    except (EnvironmentError, HTTPException) as error:
        return 0, type(error).__name__
    finally:
        connection.close()


def refusals(job):
    """What must be refused, and what must not be for the same to mean anything."""
    s3, bucket = client(job), job["bucket"]
    make(s3, bucket)
    s3.put_object(Bucket=bucket, Key="mine", Body=b"x")
    access, secret = job["keys"]
    wrong = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    tries = {
        "right key": job["keys"],
        "wrong secret": [access, wrong],
        "unknown key": ["X" * 20, secret],
        "no key": [],
    }
    if job.get("other"):
        tries["another user"] = job["other"]
    answers = {}
    for name, keys in sorted(tries.items()):
        try:
            status, code = 200 if body(client(job, keys), bucket, "mine") == b"x" else 500, ""
        except Exception as error:
            status, code = status_of(error), code_of(error)
        answers[name] = {"status": status, "code": code}
    status, error = plain_http(job["endpoint"])
    return {"answers": answers, "plain": {"status": status, "error": error}}


def quota(job):
    """Write until it is refused, or three times what is allowed is written."""
    s3, bucket = client(job, endpoint=job["gateway"]), job["bucket"]
    make(s3, bucket)
    empty(s3, bucket)
    accepted, number, code = 0, 0, ""
    data = content("quota", job["object_bytes"])
    while accepted < 3 * job["quota_bytes"]:
        try:
            s3.put_object(Bucket=bucket, Key=str(number), Body=data)
        except Exception as error:
            code = code_of(error)
            break
        accepted, number = accepted + len(data), number + 1
    readable = number > 0 and body(s3, bucket, "0") == data
    return {"accepted": accepted, "code": code, "readable": readable, "quota": job["quota_bytes"]}


def put(job):
    """Write one object whose bytes cacheread.py, which is beside it, takes for a version of a file."""
    from cacheread import blocks

    data = b"".join(blocks(job["seed"], str(job["version"]), job["name"], job["size"]))
    client(job).put_object(Bucket=job["bucket"], Key=job["prefix"] + job["name"], Body=data)
    return {"bytes": len(data)}


def clear(job):
    """Remove what lies below a prefix of somebody's bucket."""
    empty(client(job), job["bucket"], job["prefix"])
    return {}


def sweep(job):
    """Remove our buckets with all that is in them; tell which stayed."""
    stayed = []
    for keys in [job["keys"]] + job.get("more_keys", []):
        s3 = client(job, keys)
        for bucket in [b["Name"] for b in s3.list_buckets()["Buckets"] if b["Name"].startswith(PREFIX)]:
            try:
                empty(s3, bucket)
                s3.delete_bucket(Bucket=bucket)
            except Exception as error:
                stayed.append("bucket %s (%s)" % (bucket, code_of(error)))
    return {"stayed": stayed}


def empty(s3, bucket, prefix=""):
    """Remove all objects, versions and unfinished uploads of a bucket, or those below a prefix."""
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
        for one in page.get("Versions", []) + page.get("DeleteMarkers", []):
            s3.delete_object(Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])
    for upload in s3.list_multipart_uploads(Bucket=bucket, Prefix=prefix).get("Uploads", []):
        s3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])


def hello(job):
    """Tell the library's version, and whether the store answers to the key."""
    import boto3

    return {
        "boto3": boto3.__version__,
        "buckets": [b["Name"] for b in client(job).list_buckets()["Buckets"]],
    }


VERBS = {f.__name__: f for f in (functions, refusals, quota, load, put, clear, sweep, hello)}


def main():
    """Run a command; an error is printed in one line, without keys."""
    job = json.load(sys.stdin)
    try:
        print(json.dumps(VERBS[sys.argv[1]](job)))
    except Exception as error:
        print("%s: %s: %s" % (sys.argv[1], code_of(error), error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
