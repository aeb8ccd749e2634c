"""What the gate does not let in, and what it cuts: stolen links and cookies, other pages, sessions that ended, a stop."""

import asyncio
import time
from urllib.parse import urljoin

import aiohttp
import pytest

from tests.lab.ava.bench_people import SPEC
from tests.lab.ava.bench_ways import Browser, Kernel, reply, request
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]
CUT = 15
"""Seconds within which what is open is cut: the gate asks every 5, and the lab is slow."""


def log_in_again(owner):
    """Return another browser of the owner's, and its log-out."""
    browser = Browser(owner.browser.authority)
    csrf = browser.login(owner.site, owner.name, owner.password)

    def out():
        gone = browser.ask(
            "DELETE", f"{owner.site}/api/v1/sessions/current", accept="application/json", x_csrf_token=csrf
        )
        assert gone.status_code == 204

    return browser, out


def ticket_of(browser, url):
    """Return the address with a ticket that a browser is sent to, and who it was for."""
    first = browser.ask("GET", url, follow=False)
    assert first.status_code == 303, first.text
    second = browser.ask("GET", first.headers["location"], follow=False)
    assert second.status_code == 303, second.text
    return second.headers["location"]


def until_cut(kernel, meanwhile):
    """Return the seconds after ``meanwhile`` until a kernel's websocket is cut, and by which code."""

    async def watch():
        async with aiohttp.ClientSession() as session, kernel.connect(session) as socket:
            await socket.send_json(request("1"))
            while reply(await asyncio.wait_for(socket.receive(), 60))[0] != "execute_reply":
                pass
            await asyncio.to_thread(meanwhile)
            began = time.monotonic()
            while True:
                message = await asyncio.wait_for(socket.receive(), 60)
                if message.type in (
                    aiohttp.WSMsgType.CLOSE,
                    aiohttp.WSMsgType.CLOSED,
                    aiohttp.WSMsgType.ERROR,
                ):
                    return time.monotonic() - began, socket.close_code

    return asyncio.run(watch())


def test_a_stolen_link_is_of_no_use(people, bench):
    people.ann.enter(bench.url)
    fresh, _ = log_in_again(people.ann)
    link = ticket_of(fresh, bench.url)
    thief = Browser(people.ann.authority)
    assert thief.ask("GET", link, follow=False).status_code == 403, "without the browser's own cookie"
    thief.ask("GET", bench.url, follow=False)  # now it has one of its own
    assert thief.ask("GET", link, follow=False).status_code == 403
    assert fresh.ask("GET", link, follow=False).status_code == 303
    assert fresh.ask("GET", link, follow=False).status_code == 403, "once"


def test_a_cookie_is_good_for_one_workbench_alone(people, bench):
    people.ann.enter(bench.url)
    other = people.eve.ava.define("bench", SPEC)
    host = urljoin(bench.url, f"https://{other.id}.{bench.url.split('.', 1)[1]}")
    thief = Browser(people.ann.authority)
    thief.jar[host.split("/")[2]] = dict(people.ann.browser.jar[bench.url.split("/")[2]])
    assert thief.ask("GET", host, accept="application/json").status_code == 403


def test_another_page_gets_nothing_in_the_owners_name(people, bench):
    people.ann.enter(bench.url)
    ask, kernels = people.ann.browser.ask, f"{bench.url}api/kernels"
    for origin in ("https://evil.example", people.ann.site, "null"):
        assert ask("POST", kernels, json={"name": "python3"}, origin=origin).status_code == 403
    assert ask("POST", kernels, json={"name": "python3"}).status_code == 403, "who does not say where from"
    assert ask("GET", kernels, sec_fetch_site="same-site", sec_fetch_mode="cors").status_code == 403
    kernel = Kernel(people.ann.browser, bench.url)

    async def strange():
        async with aiohttp.ClientSession() as session, kernel.connect(session, Origin="https://evil.example"):
            pass

    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        asyncio.run(strange())
    assert refused.value.status == 403


def test_jupyters_token_alone_opens_nothing_from_outside(people, bench):
    people.ann.enter(bench.url)
    kernel = Kernel(people.ann.browser, bench.url)
    answer = kernel.run("print(open('/etc/ava/bench/jupyter_server_config.json').read())")
    token = answer.partition('"token": "')[2].partition('"')[0]
    assert len(token) > 30
    assert "__Host-" not in kernel.run("import os; print(os.environ)")
    stranger = Browser(people.ann.authority)
    asked = stranger.ask("GET", f"{bench.url}api/status?token={token}", accept="application/json")
    assert asked.status_code == 401, "the token alone opens nothing from outside"


def test_with_log_out_all_that_is_open_ends(people, bench):
    browser, out = log_in_again(people.ann)
    until(lambda: browser.get(bench.url).status_code == 200, 120)
    kernel = Kernel(browser, bench.url)
    seconds, code = until_cut(kernel, out)
    assert seconds < CUT
    # The ingress may end the connection before it has passed the gate's last frame on.
    assert code in (aiohttp.WSCloseCode.POLICY_VIOLATION, aiohttp.WSCloseCode.ABNORMAL_CLOSURE)
    after = browser.ask("GET", f"{bench.url}api/status", accept="application/json")
    assert after.status_code == 401
    print(f"the websocket was cut {seconds:.1f} s after log-out")


def test_a_large_file_goes_up_and_down(people, bench):
    people.ann.enter(bench.url)
    content = "x" * 8_000_000
    put = people.ann.browser.ask(
        "PUT",
        f"{bench.url}api/contents/large.txt",
        json={"type": "file", "format": "text", "content": content},
        origin=bench.url.rstrip("/"),
    )
    assert put.status_code == 201, put.text
    got = people.ann.browser.get(f"{bench.url}files/large.txt", sec_fetch_site="same-origin")
    assert got.text == content


def test_a_terminal_works_through_the_ingress(people, bench):
    people.ann.enter(bench.url)
    origin = bench.url.rstrip("/")
    made = people.ann.browser.ask("POST", f"{bench.url}api/terminals", origin=origin)
    assert made.status_code == 200, made.text

    async def talk():
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                f"{bench.url}terminals/websocket/{made.json()['name']}",
                headers={"Cookie": people.ann.browser.cookies(bench.url), "Origin": origin},
                ssl=people.ann.browser.trust,
            ) as socket,
        ):
            await socket.send_json(["stdin", "echo $((6 * 7))-$0\r"])
            text = ""
            while "42-" not in text:
                message = await asyncio.wait_for(socket.receive_json(), 30)
                text += message[1] if message[0] == "stdout" else ""
            return text

    assert "42-/bin/bash" in asyncio.run(talk())


def test_with_a_stop_all_that_is_open_ends_and_the_next_run_has_the_same_address(people, bench):
    second = people.ann.start("second")
    assert second.url != bench.url, "an origin of its own"
    people.ann.enter(second.url)
    seconds, _ = until_cut(Kernel(people.ann.browser, second.url), lambda: people.ann.ava.stop(second.run))
    assert seconds < CUT
    print(f"the websocket was cut {seconds:.1f} s after the stop")
    until(lambda: people.ann.ava.run(second.run).state == "stopped", 120)
    there = people.ann.browser.get(second.url)
    assert there.status_code == 503
    assert "does not run" in there.text
    again = people.ann.start("second")
    assert (again.id, again.url, again.ssh.host_key) == (second.id, second.url, second.ssh.host_key)
    assert "JupyterLab" in people.ann.enter(again.url).text
    people.ann.stop(again.run)
