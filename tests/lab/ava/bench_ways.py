"""A user's workbench: what a browser does there, and what ssh does."""

import asyncio
import json
import ssl
import subprocess
import uuid

import aiohttp
import httpx

OPENED = "/lab", "/tree"


class Browser:
    """A browser that keeps cookies by host and obeys redirections, as far as these pages need it."""

    def __init__(self, authority):
        self.authority, self.trust = authority, ssl.create_default_context(cafile=str(authority))
        self.jar = {}

    def get(self, url, **headers):
        return self.ask("GET", url, **headers)

    def ask(self, method, url, *, follow=True, json=None, data=None, **headers):
        """Return the last answer; every Set-Cookie counts for the host that has sent it alone."""
        headers = {"accept": "text/html", **{k.replace("_", "-"): v for k, v in headers.items()}}
        for _ in range(10):
            host = httpx.URL(url).host
            cookies = "; ".join(f"{k}={v}" for k, v in self.jar.get(host, {}).items())
            sent = headers | ({"cookie": cookies} if cookies else {})
            with httpx.Client(verify=self.trust, trust_env=False, timeout=30) as client:
                answer = client.request(method, url, headers=sent, json=json, data=data)
            for line in answer.headers.get_list("set-cookie"):
                name, _, value = line.partition(";")[0].partition("=")
                if "max-age=0" in line.lower():
                    self.jar.get(host, {}).pop(name, None)
                else:
                    self.jar.setdefault(host, {})[name] = value.strip('"')
            if not (follow and answer.is_redirect):
                return answer
            url = str(answer.url.join(answer.headers["location"]))
        raise AssertionError(f"too many redirections, the last to {url}")

    def login(self, site, name, password):
        """Log in at the site; return the CSRF token."""
        answer = self.ask("POST", f"{site}/api/v1/sessions", json={"name": name, "password": password})
        assert answer.status_code == 201, answer.text
        return answer.json()["csrf"]

    def cookies(self, url):
        return "; ".join(f"{k}={v}" for k, v in self.jar.get(httpx.URL(url).host, {}).items())


class Kernel:
    """A kernel of a workbench through the ingress, spoken to as Jupyter's own page does."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url.rstrip("/")
        made = browser.ask(
            "POST", f"{self.url}/api/kernels", follow=False, json={"name": "python3"}, origin=self.url
        )
        assert made.status_code == 201, made.text
        self.id = made.json()["id"]

    def connect(self, session, **headers):
        """Return aiohttp's context of the kernel's websocket."""
        return session.ws_connect(
            f"{self.url}/api/kernels/{self.id}/channels?session_id={uuid.uuid4().hex}",
            headers={"Cookie": self.browser.cookies(self.url), "Origin": self.url, **headers},
            ssl=self.browser.trust,
            timeout=aiohttp.ClientWSTimeout(ws_close=3),
        )

    def run(self, code, seconds=60):
        """Return what a cell prints."""

        async def cell():
            async with aiohttp.ClientSession() as session, self.connect(session) as socket:
                await socket.send_json(request(code))
                text = ""
                async for message in socket:
                    kind, content = reply(message)
                    if kind == "stream":
                        text += content["text"]
                    if kind == "execute_reply":
                        return text
            raise AssertionError("the kernel's websocket has ended")

        return asyncio.run(asyncio.wait_for(cell(), seconds))


def request(code):
    """Return Jupyter's message that has a cell run."""
    header = {
        "msg_id": uuid.uuid4().hex,
        "username": "",
        "session": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "version": "5.3",
    }
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    content |= {"user_expressions": {}, "stop_on_error": True}
    return {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": content,
        "channel": "shell",
        "buffers": [],
    }


def reply(message):
    """Return kind and content of one of Jupyter's messages."""
    if message.type is not aiohttp.WSMsgType.TEXT:
        return "", {}
    data = json.loads(message.data)
    return data["header"]["msg_type"], data["content"]


class Ssh:
    """ssh as a user has it: a key, and what `ava workbench ssh-config` says of the workbench."""

    def __init__(self, folder, ssh, address, key="key"):
        self.folder, self.key, self.it = folder, folder / key, ssh
        if not self.key.exists():
            made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)]
            subprocess.run(made, check=True, timeout=30)
        self.address = address
        self.config = folder / f"config-{key}"

    @property
    def public(self):
        return self.key.with_suffix(".pub").read_text()

    def write(self):
        known = self.folder / "known_hosts"
        known.write_text(f"gateway {self.it.jump_host_key}\nbench {self.it.host_key}\n")
        common = (
            f"  IdentityFile {self.key}\n  IdentitiesOnly yes\n  UserKnownHostsFile {known}\n"
            "  StrictHostKeyChecking yes\n  BatchMode yes\n  ConnectTimeout 20\n  LogLevel ERROR\n"
        )
        self.config.write_text(
            f"Host gateway\n  HostName {self.address}\n  Port {self.it.jump_port}\n  User {self.it.jump_user}\n"
            f"  HostKeyAlias gateway\n{common}"
            f"Host bench\n  HostName {self.it.host}\n  Port {self.it.port}\n  User {self.it.user}\n"
            f"  HostKeyAlias bench\n  ProxyJump gateway\n{common}"
        )
        return self

    def run(self, *command, program="ssh", check=True, timeout=60, **more):
        """Run ssh, scp or sftp; return what came of it."""
        argv = [program, "-F", str(self.config), *command]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False, **more)
        assert not check or done.returncode == 0, done.stderr
        return done
