import gzip
import hashlib
import io
from pathlib import Path

import pytest

from avadm.artifacts import upstream
from avadm.artifacts.manifest import Artifact, Download, ExpectedFile
from avadm.errors import AvadmError
from tests.unit.fakes.builders import tar

URL = "https://example.org/thing"


def artifact(**download: str) -> Artifact:
    files, upstream = {"thing": ExpectedFile()}, {"thing": Download(url=URL, **download)}
    return Artifact(name="t", title="t", version="1", files=files, upstream=upstream)


def fetch(what, body, out, own=""):
    def opened(url):
        assert url == URL
        return io.BytesIO(body)

    upstream.fetch(what, {URL: own} if own else {}, out, lambda text: None, opened)


def test_without_a_checksum_nothing_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(AvadmError, match="checksum is not known"):
        fetch(artifact(), b"x", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_checksum_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AvadmError, match="not what its publisher has"):
        fetch(artifact(sha256="0" * 64), b"x", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_users_checksum_does_where_the_manifest_has_none(tmp_path: Path) -> None:
    fetch(artifact(), b"x", tmp_path, own=hashlib.sha256(b"x").hexdigest().upper())
    assert (tmp_path / "thing").read_bytes() == b"x"
    assert (tmp_path / "thing").stat().st_mode & 0o777 == 0o755


def test_a_file_is_taken_out_of_an_archive(tmp_path: Path) -> None:
    body = gzip.compress(tar(tmp_path / "archive", {"./bin/thing": "abc"}).read_bytes())
    checksum = hashlib.sha256(body).hexdigest()
    fetch(artifact(sha256=checksum, member="./bin/thing"), body, tmp_path)
    assert (tmp_path / "thing").read_bytes() == b"abc"
    with pytest.raises(AvadmError, match=r"has no \./bin/other"):
        fetch(artifact(sha256=checksum, member="./bin/other"), body, tmp_path)
