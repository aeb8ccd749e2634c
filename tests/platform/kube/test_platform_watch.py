"""Watches on a real API server of 1.9.11 (K10)."""

import asyncio
import contextlib
import time

import pytest

from ava.kube.client import Client
from ava.kube.errors import Gone, NotFound
from ava.kube.informer import Informer
from ava.kube.resources import CONFIG_MAPS, DEFINITIONS, Kind
from ava.kube.watch import watch

THINGS = Kind("test.ava.io/v1", "Thing", "things")


async def define(client):
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "test.ava.io", "version": "v1", "scope": "Namespaced", "names": names}
    await client.ensure(DEFINITIONS, {"metadata": {"name": "things.test.ava.io"}, "spec": spec})
    async with asyncio.timeout(60):
        while True:
            try:
                await client.list(THINGS)
            except NotFound:
                await asyncio.sleep(0.2)
            else:
                return


@pytest.mark.slow
def test_a_silent_watch_on_a_custom_resource_sees_its_end_and_loses_nothing(apiserver):
    """150 s of silence: the server ends the watch twice, and the mirror continues without a new list."""

    async def test():
        async with Client(apiserver.access) as client:
            await define(client)
            with contextlib.suppress(Exception):
                await client.delete(THINGS, "late", "default")
            mirror = Informer(client, THINGS, namespace="default")
            reports = []
            mirror.listen(lambda old, new: reports.append((new or old)["metadata"]["name"]))
            task = asyncio.create_task(mirror.run())
            await mirror.synced.wait()
            began = time.monotonic()
            await asyncio.sleep(150)
            await client.create(THINGS, {"metadata": {"name": "late"}, "spec": {"a": 1}}, "default")
            async with asyncio.timeout(10):
                while reports != ["late"]:
                    await asyncio.sleep(0.05)
            assert time.monotonic() - began > 150
            assert mirror.relists == 1
            assert mirror.watches >= 3
            task.cancel()

    asyncio.run(test())


def test_a_version_that_is_too_old_is_gone(apiserver):
    async def test():
        async with Client(apiserver.access) as client:
            await client.ensure(CONFIG_MAPS, {"metadata": {"name": "busy"}}, "default")
            # More than the server's cache of changes holds.
            for n in range(300):
                await client.patch(CONFIG_MAPS, "busy", {"metadata": {"labels": {"n": str(n)}}}, "default")
            with pytest.raises(Gone):
                async for _ in watch(client, CONFIG_MAPS, "1", seconds=2):
                    pass

    asyncio.run(test())


def test_a_mirror_goes_on_over_a_restart_of_the_server(apiserver):
    async def test():
        async with Client(apiserver.access) as client:
            mirror = Informer(client, CONFIG_MAPS, namespace="default", whole=True)
            task = asyncio.create_task(mirror.run())
            await mirror.synced.wait()
            await asyncio.to_thread(apiserver.restart)
            async with asyncio.timeout(60):
                await client.create(CONFIG_MAPS, {"metadata": {"name": "after-restart"}}, "default")
                while ("default", "after-restart") not in mirror.objects:
                    await asyncio.sleep(0.05)
            await client.delete(CONFIG_MAPS, "after-restart", "default")
            task.cancel()

    asyncio.run(test())
