"""Idle workbenches on the lab: warned, stopped by the site's rule and started again with all they had; who works stays.

The rule's times are minutes here. Cards of the lab are stand-ins whose duty is 5 % and more at all times.
"""

import asyncio
import contextlib
import subprocess
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import aiohttp
import pytest

from ava.domain import labels
from tests.lab import prometheus
from tests.lab.ava.bench_ways import Kernel, Ssh
from tests.lab.ava.mail_sink import MailSink, signed
from tests.lab.ava.settings import changed, here
from tests.lab.ava.user_journey import ENDED
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]
GIB, MIB = 2**30, 2**20
AFTER, WARN = 0.04, 0.01
"""Hours. A warning comes no sooner than 108 s after the last sign of work, and who works gives one each 90 s at least."""
LONGEST = 480
"""Seconds for the whole: the first look begins the time again, and there is one each minute."""
BURN = ["python3", "-c", "while True: pass"]
USER, PASSWORD = "ava-notices", "of the mail server's"
PASSFILE, SIGNER = "vault_ava_mail_password", "vault_ava_webhook_secret"


def spec(gpu=0, **more):
    each = {"cpu": 100, "memory": 256 * MIB, **({"gpu": gpu} if gpu else {})}
    return {"kind": "workbench", "image": "ava-base", "roles": [{"each": each}], **more}


SPECS = {
    "idle": spec(disk=GIB),
    "kept": spec(command=["sleep", "3600"]),
    "busy": spec(command=BURN),
    "card": spec(1, command=["sleep", "3600"]),
    "ssh": spec(command=["sleep", "3600"]),
    "browser": spec(),
}
"""No one works in the first two; an administrator has the second kept."""


def pods_of(platform):
    """Return name and uid of every pod of a run."""
    found = platform.ctl(f"get pods --all-namespaces --selector={labels.RUN}")["items"]
    return {(pod["metadata"]["name"], pod["metadata"]["uid"]) for pod in found}


@pytest.fixture(scope="module")
def site(platform, lab, people, tmp_path_factory):
    """The lab with a rule for idle workbenches, a mail server and a receiver of webhooks; workbenches that run."""
    folder, ann = tmp_path_factory.mktemp("idle"), people.ann
    group = next(g for g in ann.ava.groups() if g.name == ann.name)
    people.admin.set_quota(ann.name, group.quota.model_dump() | {"disk": 2 * GIB})
    with MailSink(folder, here(lab), USER, PASSWORD) as post:
        service = {"networks": [f"{post.address}/32"], "ca": post.ca.read_text()}
        mail = {"host": post.address, "port": post.mail_port, "sender": "ava@example.org", "user": USER}
        notices = {"mail": mail | service, "webhook": {"url": post.hook, **service}}
        rule = {"idle_hours": AFTER, "warn_hours": WARN}
        keys = {name: Ssh(folder, SimpleNamespace(), None, key=name) for name in ("idle", "ssh")}
        for name, ssh in keys.items():
            ann.ava.put_key("ssh", name, ssh.public)
        made = {name: ann.ava.define(f"rest-{name}", one) for name, one in SPECS.items()}
        people.admin.exempt_idle(made["kept"].id, True)
        runs = {name: ann.ava.start_definition(one.id).id for name, one in made.items()}
        until(lambda: {ann.ava.run(run).state for run in runs.values()} == {"running"}, 180)
        pods = pods_of(platform)
        with changed(lab, {PASSFILE: PASSWORD}, workbenches=rule, notices=notices) as settings:
            # On nodes that they fill: the parts of the platform that come for the new settings take no one's place.
            assert pods_of(platform) == pods
            yield SimpleNamespace(
                post=post, made=made, runs=runs, keys=keys, ann=ann, signer=settings.secret(SIGNER)
            )
            for run in {w.run for w in ann.ava.workbenches()} - {None}:
                ann.ava.stop(run)
        for one in made.values():
            until(lambda one=one: ann.ava.workbench(one.id).state in ENDED, 120)
            ann.ava.delete_definition(one.id)


def inside(site, name, gateway):
    """Return ssh into a workbench."""
    ssh = site.keys[name]
    ssh.it, ssh.address = site.ann.ava.workbench(site.made[name].id).ssh, gateway
    ssh.write()
    until(lambda: ssh.run("bench", "true", check=False).returncode == 0, 120)
    return ssh


@contextlib.contextmanager
def session(ssh):
    """Have an ssh session open in which nothing is done."""
    with subprocess.Popen(["ssh", "-F", str(ssh.config), "bench", "sleep 3600"]) as it:
        try:
            yield
            assert it.poll() is None, "the session has ended"
        finally:
            it.kill()


@contextlib.contextmanager
def watched(kernel):
    """Have a notebook open in a browser in which nothing is done."""
    over, codes = threading.Event(), []

    async def look():
        async with aiohttp.ClientSession() as web, kernel.connect(web) as socket:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    message = await asyncio.wait_for(socket.receive(), 2)
                    if message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR):
                        codes.append(socket.close_code)
                        return

    thread = threading.Thread(target=lambda: asyncio.run(look()), daemon=True)
    thread.start()
    try:
        yield
        assert codes == [], "the notebook's connection has ended"
    finally:
        over.set()
        thread.join(20)


@pytest.fixture(scope="module")
def seen(site, gateway, lab):
    """What came of them: for each the times of its end and of the first warning, in seconds; the warning itself."""
    ann, began = site.ann, time.monotonic()
    ssh = inside(site, "idle", gateway)
    ssh.run("bench", "echo mine > /disk/kept; echo mine > ~/kept-idle; sync")
    url = ann.ava.workbench(site.made["browser"].id).url
    ann.enter(url)
    report, ended, page = {}, {}, ""
    with session(inside(site, "ssh", gateway)), watched(Kernel(ann.browser, url)):
        while "idle" not in ended:
            for name, one in site.made.items():
                now = ann.ava.workbench(one.id)
                if now.idle_until and name not in report:
                    report[name] = (time.monotonic() - began, now.idle_until)
                    page = page or ann.browser.get(f"{ann.site}/definitions/{one.id}").text
                if now.state in ENDED and name not in ended:
                    ended[name] = (time.monotonic() - began, now.reason)
            assert time.monotonic() - began < LONGEST, (report, ended)
            time.sleep(3)
        node = lab.names("prometheus")[0]
        rows = prometheus.query(lab, node, f'run:gpu_utilization:percent{{run="{site.runs["card"]}"}}')
    print(f"reported after {report['idle'][0]:.0f} s, ended after {ended['idle'][0]:.0f} s")
    duty = [float(row["value"][1]) for row in rows]
    return SimpleNamespace(report=report, ended=ended, page=page, duty=duty)


def test_who_does_not_work_is_reported_first_and_then_stopped(site, seen, people):
    when, why = seen.ended["idle"]
    report, _ = seen.report["idle"]
    assert when - report >= WARN * 3600 - 5
    assert why == "Stopped by the site's rule for idle workbenches."
    assert "It is idle" in seen.page
    (line,) = [x for x in people.admin.audit(most=100) if x.object == f"run {site.runs['idle']}"][:1]
    assert (line.who, line.action) == ("ava", "workbenches.idle")


@pytest.mark.parametrize("name", ["kept", "busy", "card", "ssh", "browser"])
def test_who_works_or_is_kept_is_neither_reported_nor_stopped(site, seen, name):
    assert name not in seen.report
    assert name not in seen.ended
    assert site.ann.ava.workbench(site.made[name].id).state == "running"
    # The control: that a card works is known, and not only that nothing is.
    assert name != "card" or min(seen.duty) >= 5


def test_the_owner_hears_of_both_by_mail_and_by_webhook(site, seen):
    run, post = site.runs["idle"], site.post

    # Of other runs of the last day it hears too: no one was reported before.
    def posts():
        return [one for one in post.posts if one[0]["run"] == run]

    def kinds():
        return [reply["kind"] for reply, _, _ in posts()]

    until(lambda: kinds() == ["bench-idle", "run-finished"], 60, report=kinds)
    assert {reply["run"] for reply, _, _ in post.posts if reply["kind"] == "bench-idle"} == {run}
    for reply, raw, signature in posts():
        assert signature == signed(raw, site.signer)
        assert reply["owner"] == site.ann.name

    def mails():
        return [one for one in post.mails if f"(run {run}," in one[1].get_content()]

    def subjects():
        return [letter["Subject"] for _, letter in mails()]

    until(lambda: len(mails()) == 2, 60, report=subjects)
    (to, first), (_, last) = mails()
    assert to == [f"{site.ann.name}@example.org"]
    assert first["Subject"] == "workbench rest-idle: idle"
    assert "It is idle. It is stopped at" in first.get_content()
    assert last["Subject"] == "workbench rest-idle: stopped"
    assert "the site's rule for idle workbenches" in last.get_content()


def test_the_disk_and_the_home_stay_and_it_is_started_again_with_all_its_time(site, seen, gateway):
    ann = site.ann
    again = ann.ava.start_definition(site.made["idle"].id)
    until(lambda: ann.ava.run(again.id).state == "running", 120)
    reply = inside(site, "idle", gateway).run("bench", "cat /disk/kept ~/kept-idle").stdout
    assert reply.split() == ["mine", "mine"]
    now = ann.ava.workbench(site.made["idle"].id)
    assert now.idle_until is None
    _, until_then = seen.report["idle"]
    assert ann.ava.run(again.id).admitted > until_then - timedelta(hours=WARN)
