"""Preflight asks image registries of others as docker would: over TLS, with the authority that the site file names."""

from pathlib import Path

from nodeside.preflight.sources import registries
from tests.unit.fakes.made import Signer, https


def test_a_registry_answers_or_says_why_not(tmp_path) -> None:
    own, other = Signer(), Signer("else")
    ca, certificate, key = own.write(tmp_path, "registry")
    trusted = Path(ca).read_text()
    for status, wanted in ((200, "ok"), (401, "ok"), (503, "status 503")):
        with https(certificate, key, status=status) as port:
            assert registries({f"127.0.0.1:{port}": trusted}) == {f"127.0.0.1:{port}": wanted}
    with https(certificate, key) as port:
        foreign = Path(other.write(tmp_path, "other")[0]).read_text()
        assert "certificate verify failed" in registries({f"127.0.0.1:{port}": foreign})[f"127.0.0.1:{port}"]
    assert "refused" in registries({f"127.0.0.1:{port}": trusted})[f"127.0.0.1:{port}"]
