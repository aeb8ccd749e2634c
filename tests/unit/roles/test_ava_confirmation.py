"""Users confirm their addresses exactly where the operator's settings have a mail server."""

from pathlib import Path

import pytest
import yaml
from ansible.plugins.filter.core import combine
from jinja2.nativetypes import NativeEnvironment

VARS = yaml.safe_load((Path(__file__).parents[3] / "roles/ava/vars/main.yml").read_text())
MAIL = {"notices": {"mail": {"host": "mail.example.org", "sender": "ava@example.org"}}}
HOOK = {"notices": {"webhook": {"url": "https://hook.example.org"}}}


@pytest.mark.parametrize(
    ("rendered", "further", "asked"),
    [
        ({}, {}, False),
        (HOOK, {}, False),
        (HOOK, {"operator": {"notices": None}}, False),
        (MAIL, {}, True),
        (MAIL, {"operator": HOOK}, True),
        ({}, {"operator": MAIL}, True),
    ],
)
def test_addresses_are_confirmed_where_the_site_sends_mail(rendered, further, asked):
    given = {"ava_host": "ava.x", "ava_service_settings": {"operator": rendered}, "ava_settings": further}
    jinja = NativeEnvironment()
    jinja.filters["combine"] = combine
    given["_ava_notices"] = jinja.from_string(VARS["_ava_notices"]).render(given)
    found = jinja.from_string(VARS["_ava_confirmation"]).render(given)
    assert found == ({"email_confirmation": {"address": "https://ava.x"}} if asked else {})
