"""A daemon that asks who speaks to it: it is ready for who shows a certificate of its authority, in a real handshake."""

import ssl

import pytest
from ansible.module_utils.avadm_ask import refuses
from ansible.module_utils.avadm_daemon import answers

from tests.unit.fakes.builders import Signer, https


def test_who_shows_no_certificate_or_one_of_another_authority_is_not_answered(tmp_path):
    own = Signer()

    def tls(name, by=own):
        """What somebody shows; whom he trusts is always the first authority."""
        return dict(zip(("ca", "certificate", "key"), by.write(tmp_path, name, own), strict=True))

    daemon = tls("daemon")
    with https(daemon["certificate"], daemon["key"], clients=daemon["ca"]) as port:
        url = f"https://127.0.0.1:{port}/"
        assert answers(url, daemon) is None
        assert answers(url, tls("other")) is None
        assert answers(url, tls("strange", Signer("else"))) is not None
        assert answers(url) is not None
        assert answers(url.replace("https", "http")) is not None


def test_what_is_not_ready_yet_says_so(tmp_path):
    ca, certificate, key = Signer().write(tmp_path, "daemon")
    with https(certificate, key, status=503) as port:
        assert answers(f"https://127.0.0.1:{port}/", {"ca": ca}) == "status 503"


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("asks", [True, False])
def test_a_daemon_that_this_node_cannot_ask_is_ready_when_it_refuses_and_not_when_it_answers(
    tmp_path, asks, newest
):
    ca, certificate, key = Signer().write(tmp_path, "daemon")
    with https(certificate, key, clients=ca if asks else None, newest=newest) as port:
        reply = refuses(f"https://127.0.0.1:{port}/", ca, timeout=1)
    assert (reply is None) is asks, reply
    assert refuses(f"https://127.0.0.1:{port}/", ca) is not None, "no server is left"
