"""The mirror is the server's objects, whatever happens to the watch."""

import asyncio
import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from ava.kube.client import Client
from ava.kube.informer import Informer
from ava.kube.resources import NAMESPACES, PODS
from tests.unit.ava.kube.fake_api import FakeApi, Fault
from tests.unit.ava.kube.test_kube_client import pod


def with_mirror(test, **settings):
    """Run ``test(api, client, mirror, changes)`` while the mirror runs; ``changes`` has (old uid, new uid) of each change."""

    async def go():
        api = FakeApi()
        async with api.serve() as access, Client(access, timeout=2.0) as client:
            await client.create(NAMESPACES, {"metadata": {"name": "x"}})
            mirror = Informer(client, PODS, **{"seconds": 1, "slack": 0.5} | settings)
            reports = []
            mirror.listen(
                lambda old, new: reports.append(
                    (old and old["metadata"]["uid"], new and new["metadata"]["uid"])
                )
            )
            task = asyncio.create_task(mirror.run())
            try:
                async with asyncio.timeout(20):
                    await mirror.synced.wait()
                    await test(api, client, mirror, reports)
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    asyncio.run(go())


async def until(wanted):
    while not wanted():
        await asyncio.sleep(0.01)


def same(api, mirror):
    return {k: v["metadata"]["resourceVersion"] for k, v in mirror.objects.items()} == {
        k: v["metadata"]["resourceVersion"] for k, v in api.collections.get("pods", {}).items()
    }


def test_what_is_not_accepted_is_as_if_it_were_not_there():
    async def test(api, client, mirror, changes):
        accepted, other = pod("p"), pod("q")
        other["metadata"]["labels"] = {"strange": "1"}
        await client.create(PODS, other, "x")
        await client.create(PODS, accepted, "x")
        await until(lambda: len(changes) == 1)
        assert list(mirror.objects) == [("x", "p")]
        changed = await client.get(PODS, "p", "x")
        changed["metadata"]["labels"] = {"strange": "1"}
        await client.replace(PODS, changed, "x")
        await until(lambda: len(changes) == 2)
        assert changes[1] == (changes[0][1], None)
        assert mirror.objects == {}

    with_mirror(test, accept=lambda thing: "strange" not in (thing["metadata"].get("labels") or {}))


def test_changes_arrive_over_many_ends_of_the_watch_without_a_new_list():
    async def test(api, client, mirror, changes):
        await asyncio.sleep(2.2)
        await client.create(PODS, pod("p"), "x")
        await until(lambda: len(changes) == 1)
        await asyncio.sleep(1.2)
        await client.delete(PODS, "p", "x")
        await until(lambda: len(changes) == 2)
        assert changes == [(None, changes[0][1]), (changes[0][1], None)]
        assert api.watches >= 4
        assert mirror.relists == 1

    with_mirror(test)


def test_what_happened_behind_a_version_that_is_forgotten_is_found_by_a_new_list():
    async def test(api, client, mirror, changes):
        await client.create(PODS, pod("kept"), "x")
        await client.create(PODS, pod("gone"), "x")
        await until(lambda: len(changes) == 2)
        api.before = lambda verb, path: (_ for _ in ()).throw(Fault(503, "Away")) if verb == "GET" else None
        await asyncio.sleep(1.2)
        await client.delete(PODS, "gone", "x")
        await client.delete(PODS, "kept", "x")
        await client.create(PODS, pod("kept"), "x")
        await client.create(PODS, pod("new"), "x")
        api.forget()
        api.before = None
        await until(lambda: same(api, mirror))
        # The one of the same name is another object: gone and new, not changed.
        kept = {pair for pair in changes[2:] if pair[0] == changes[0][1]}
        assert kept == {(changes[0][1], None)}
        assert mirror.relists == 2

    with_mirror(test)


def test_a_connection_that_says_nothing_any_more_is_found_out():
    async def test(api, client, mirror, changes):
        api.mute = True
        await asyncio.sleep(1.1)  # the watch that was open ends by itself; the next one is mute
        await client.create(PODS, pod(), "x")
        await asyncio.sleep(0.3)
        assert changes == []
        watches = api.watches
        await until(lambda: api.watches > watches)
        api.mute = False
        await until(lambda: len(changes) == 1)
        assert mirror.relists == 1

    with_mirror(test)


def test_an_object_that_a_write_returned_is_known_at_once_but_not_after_its_end():
    async def test(api, client, mirror, changes):
        made = await client.create(PODS, pod(), "x")
        mirror.put(made)
        assert ("x", "p") in mirror.objects
        await client.delete(PODS, "p", "x")
        await until(lambda: not mirror.objects)
        mirror.put(made)
        assert mirror.objects == {}

    with_mirror(test)


def test_a_listener_that_fails_does_not_stop_the_mirror(caplog):
    async def test(api, client, mirror, changes):
        mirror.listen(lambda old, new: 1 / 0)
        await client.create(PODS, pod("a"), "x")
        await client.create(PODS, pod("b"), "x")
        await until(lambda: len(changes) == 2)
        assert "ZeroDivisionError" in caplog.text

    with_mirror(test)


def test_a_server_that_ends_every_watch_at_once_is_not_flooded():
    async def test(api, client, mirror, changes):
        real = api._watch

        async def short(request, plural, space):
            request.query  # noqa: B018
            clone = request.clone(rel_url=request.rel_url.update_query(timeoutSeconds="0"))
            clone._payload_writer = request._payload_writer
            return await real(clone, plural, space)

        api._watch = short
        await asyncio.sleep(1.1)
        before = api.watches
        await asyncio.sleep(2.0)
        assert api.watches - before < 12

    with_mirror(test)


def test_a_line_longer_than_any_buffer_is_read():
    async def test(api, client, mirror, changes):
        big = pod("big")
        big["metadata"]["annotations"] = {"a": "x" * 900_000}
        await client.create(PODS, big, "x")
        await until(lambda: len(changes) == 1)
        assert len(mirror.objects["x", "big"]["metadata"]["annotations"]["a"]) == 900_000

    with_mirror(test)


STEPS = st.lists(
    st.tuples(st.sampled_from(["make", "change", "remove", "forget", "cut", "wait"]), st.sampled_from("abc")),
    max_size=25,
)


@settings(max_examples=25)
@given(STEPS)
def test_after_any_sequence_of_changes_and_faults_the_mirror_is_the_server(steps):
    async def test(api, client, mirror, changes):
        for what, name in steps:
            there = ("x", name) in api.collections.get("pods", {})
            if what == "make" and not there:
                await client.create(PODS, pod(name), "x")
            elif what == "change" and there:
                await client.patch(PODS, name, {"metadata": {"labels": {"v": str(api.version)}}}, "x")
            elif what == "remove" and there:
                await client.delete(PODS, name, "x")
            elif what == "forget":
                api.forget()
            elif what == "cut":
                api.cut()
            elif what == "wait":
                await asyncio.sleep(0.01)
        await until(lambda: same(api, mirror))
        # Each object was reported as new once and as gone at most once, in this order.
        for uid in {new for _, new in changes if new}:
            assert [pair for pair in changes if pair[0] is None and pair[1] == uid] == [(None, uid)]
            assert len([pair for pair in changes if pair == (uid, None)]) <= 1

    with_mirror(test)
