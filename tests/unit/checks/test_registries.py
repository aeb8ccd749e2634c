"""Preflight asks image registries of others as docker would: over TLS, with the authority that the site file names."""

from dataclasses import replace
from pathlib import Path

from avadm.checks.preflight.sources import REGISTRIES
from avadm_node.probes.preflight.sources import registries
from tests.unit.fakes.builders import Signer, https
from tests.unit.fakes.http_proxy import http_proxy


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


def test_registries_outside_are_asked_by_the_proxy(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    ca, certificate, key = Signer().write(tmp_path, "registry")
    trusted = Path(ca).read_text()
    with https(certificate, key) as port, http_proxy(tunnels={f"127.0.0.1:{port}": port}) as (url, asked):
        names = {f"127.0.0.1:{port}": trusted}
        assert registries(names, url, list(names)) == {**dict.fromkeys(names, "ok"), url: "ok"}
        assert asked == [f"CONNECT 127.0.0.1:{port}"]
        assert registries(names, url, []) == {**dict.fromkeys(names, "ok"), url: "ok"}
        assert len(asked) == 1
    assert "refused" in registries({}, url)[url]


def test_a_proxy_that_does_not_answer_is_named(context) -> None:
    proxy = "http://10.0.0.5:3128"
    site = context.site.model_copy(
        update={"packages": context.site.packages.model_copy(update={"internet_proxy": proxy})}
    )
    context = replace(context, site=site)
    context.facts["stor1"]["registries"] = {proxy: "timed out", "hub.test": "timed out"}
    of_proxy, of_hub = sorted(REGISTRIES.judge(context), key=lambda f: f.where, reverse=True)
    assert (of_proxy.where, of_proxy.found, of_proxy.host) == (
        "packages.internet_proxy",
        "timed out",
        "stor1",
    )
    assert proxy in of_proxy.what
    assert of_hub.where == "https://hub.test/v2/"
