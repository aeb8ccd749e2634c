"""s3client.py against a store that keeps objects in memory: what a try that was cut has left counts for nothing."""

import io
import sys
from pathlib import Path

import pytest

import avadm_validation

TOOLS = Path(avadm_validation.__file__).parent / "tools"


class Missing(Exception):
    """As botocore tells of a key that is not there."""

    def __init__(self):
        super().__init__("NoSuchKey")
        self.response = {"Error": {"Code": "NoSuchKey"}, "ResponseMetadata": {"HTTPStatusCode": 404}}


class Store:
    """One bucket, with what lay in it before."""

    def __init__(self, before):
        self.there, self.pieces = dict.fromkeys(before, b"old"), {}

    def create_bucket(self, Bucket):
        return {}

    def put_bucket_versioning(self, **job):
        return {}

    def put_object(self, Bucket, Key, Body):
        self.there[Key] = Body
        return {"VersionId": "1"}

    def get_object(self, Bucket, Key, VersionId=None):
        if Key not in self.there:
            raise Missing
        return {"Body": io.BytesIO(self.there[Key])}

    def delete_object(self, Bucket, Key, VersionId=None):
        self.there.pop(Key, None)

    def create_multipart_upload(self, Bucket, Key):
        return {"UploadId": "u"}

    def upload_part(self, Bucket, Key, UploadId, PartNumber, Body):
        self.pieces[PartNumber] = Body
        return {"ETag": str(PartNumber)}

    def complete_multipart_upload(self, Bucket, Key, UploadId, MultipartUpload):
        self.there[Key] = b"".join(self.pieces[n] for n in sorted(self.pieces))

    def list_multipart_uploads(self, Bucket, Prefix):
        return {}

    def get_paginator(self, verb):
        rows = [{"Key": key, "VersionId": "1"} for key in self.there]
        page = {"Contents": rows} if verb == "list_objects_v2" else {"Versions": rows}
        return type("Pages", (), {"paginate": lambda self, **asked: [page]})()


@pytest.fixture
def s3client(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import s3client

    yield s3client
    for name in ("s3client", "s3load", "s3common"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("left", [(), ("parts", "dir 0/object+7~9")], ids=["new", "after a try that was cut"])
def test_what_an_earlier_try_has_left_is_not_listed(s3client, monkeypatch, left):
    store = Store(left)
    monkeypatch.setattr(s3client, "client", lambda job: store)
    monkeypatch.setattr(
        s3client, "body", lambda s3, bucket, key, **more: s3.get_object(bucket, key)["Body"].read()
    )
    doc = s3client.functions({"bucket": "b", "sizes": [0, 10], "each": 2, "page": 2, "multipart_bytes": 10})
    assert sorted(doc["listed"]) == sorted(doc["wanted"])
    assert doc["left"] == ["k"] or doc["left"] == []
