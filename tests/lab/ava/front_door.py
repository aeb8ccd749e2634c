"""How a person logs in at the platform: in a browser by form or at the site's provider, and by the command line."""

import html
import os
import re
import subprocess
import sys
import time
from urllib.parse import urlencode

import httpx

from tests.lab.ava.bench_ways import Browser

# A machine that does not know the platform's name: the address comes beside it.
_AVA = """import socket, sys
host, address = sys.argv[1:3]
known = socket.getaddrinfo
socket.getaddrinfo = lambda asked, *r, **m: known(address if asked == host else asked, *r, **m)
del sys.argv[1:3]
from ava.cli.main import main
main()"""


class Person:
    """A browser, and a home for the command line.

    Args:
        platform: the lab's.
        folder: the home.
        trusted: file with the authorities of the platform and of the provider.
    """

    def __init__(self, platform, folder, trusted):
        self.platform, self.folder, self.trusted = platform, folder, trusted
        self.site = f"https://{platform.host}"
        self.browser = Browser(trusted)
        folder.mkdir(exist_ok=True)

    def ask(self, method, path, **more):
        """Return the answer, however long the platform wants to be left alone before."""
        url = path if path.startswith("https:") else f"{self.site}{path}"
        while (answer := self.browser.ask(method, url, follow=False, **more)).status_code == 429:
            time.sleep(int(answer.headers.get("retry-after", 5)))
        return answer

    def form(self, name, password, following="/runs"):
        """Log in by the page's form; return the answer to it."""
        page = self.ask("GET", f"/login?{urlencode({'next': following})}").text
        csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)[1]
        sent = {"csrf": csrf, "next": following, "name": name, "password": password}
        return self.ask("POST", "/login", data=sent, origin=self.site)

    def to_provider(self, following="/runs"):
        """Press the button of the login page; return where the browser is sent."""
        page = self.ask("GET", f"/login?{urlencode({'next': following})}").text
        button = html.unescape(re.search(r'href="(/api/v1/oidc/login\?[^"]*)"', page)[1])
        return self.away(self.ask("GET", button))

    def away(self, answer):
        """Return where an answer sends the browser."""
        assert answer.status_code in (302, 303), answer.text
        return answer.headers["location"]

    def at_provider(self, url, **form):
        """Fill in the provider's form; return the address that the browser comes back to."""
        with httpx.Client(verify=self.browser.trust, trust_env=False, timeout=30) as client:
            assert client.get(url).status_code == 200
            return self.away(client.post(url, data=form))

    def by_provider(self, subject, following="/runs"):
        """Log in at the provider, whole; return the platform's last answer."""
        return self.ask("GET", self.at_provider(self.to_provider(following), sub=subject))

    def me(self):
        """Return who the platform takes this browser for, None for no one."""
        answer = self.ask("GET", "/api/v1/sessions/current", accept="application/json")
        return answer.json()["user"]["name"] if answer.status_code == 200 else None

    def ava(self, *words, given=""):
        """Run the command line; return what came of it."""
        argv = [sys.executable, "-c", _AVA, self.platform.host, self.platform.address]
        argv += ["--server", self.site, "--ca", str(self.trusted), *words]
        env = {**os.environ, "XDG_CONFIG_HOME": str(self.folder)}
        return subprocess.run(
            argv, input=given, env=env, capture_output=True, text=True, timeout=120, check=False
        )


def refused(answer, status, *words):
    """It is refused on a page for people, in these words, and no session begins."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    text = html.unescape(re.sub(r"<[^>]+>", " ", answer.text))
    assert not [w for w in words if w not in text], text
    assert "__Host-ava=" not in answer.headers.get("set-cookie", "")
