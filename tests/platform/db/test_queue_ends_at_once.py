"""A queue is deleted, and others are made for a pool, while runs are submitted to it: no run is left in a queue that is gone."""

import threading

from ava.db.database import open_database
from ava.domain.model import Phase, Pool
from ava.domain.problems import ApiError
from tests.unit.ava.db.world import NOW, World

ROUNDS, THREADS = 20, 4


def at_once(*actions):
    """Do all of them at the same moment; return what each was refused with, None for what was done."""
    start, found = threading.Barrier(len(actions)), [None] * len(actions)

    def do(number, action):
        start.wait()
        try:
            action()
        except ApiError as refused:
            found[number] = (refused.status, refused.problems[0].code)

    threads = [threading.Thread(target=do, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_no_run_is_left_in_a_queue_that_is_gone(url):
    db = open_database(url)
    world, other = World(db), open_database(url)
    for number in range(ROUNDS):
        name = f"line{number}"
        db.queues.put(name, NOW)
        definition = world.definition()
        submits = [
            lambda key=f"{name}-{i}", name=name, definition=definition: world.submit(
                queue=name, key=key, definition=definition
            )
            for i in range(THREADS)
        ]
        *sent, deleted = at_once(*submits, lambda name=name: other.queues.delete(name, NOW))
        inside = [
            r for r in db.runs.list(limit=500).items if r.queue == name and r.phase is not Phase.FINISHED
        ]
        there = name in {q.name for q in db.queues.list()}
        assert there == (deleted is not None), (deleted, there)
        assert there or not inside
        assert {s for s in sent if s is not None} <= {(404, "not-found")}
        assert deleted in (None, (409, "queue-in-use"))
    db.close()
    other.close()


def test_no_queue_is_left_with_a_pool_that_is_gone(url):
    db, other = open_database(url), open_database(url)
    for number in range(ROUNDS):
        pool = f"pool{number}"
        db.pools.put(Pool("", pool, gpu=True, selector={"a": "b"}, gpu_slots=4))
        made, gone = at_once(
            lambda pool=pool: db.queues.put(f"q-{pool}", NOW, pool=pool),
            lambda pool=pool: other.pools.delete(pool),
        )
        pools = {p.name for p in db.pools.list()}
        assert (pool in pools) == (gone is not None)
        assert made in (None, (422, "pool-unknown"))
        assert {q.pool for q in db.queues.list() if q.pool} <= pools
        assert made is None or gone is None
    db.close()
    other.close()
