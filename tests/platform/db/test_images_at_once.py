"""One starts a run of an image while another deletes it, each as the API does: in PostgreSQL too one sees the other."""

import threading
import time

import pytest

from ava.db.database import open_database
from ava.domain.model import Kind
from tests.unit.ava.db.world import NOW, SPEC, World

pytestmark = pytest.mark.platform
ROUNDS, IMAGE = 60, "users/ann/torch"
UNTIL = NOW.replace(year=NOW.year + 1)


class Registry:
    """An image that is there or not; ``used`` is what was started of it."""

    there, used = True, False


def start(store, registry, number):
    """Claim the repository, wait for a deletion, ask for the image, then write the definition."""
    store.claim_image(str(number), IMAGE, UNTIL)
    while store.images_go(IMAGE, NOW):
        time.sleep(0.001)
    made = None
    if registry.there:
        spec = SPEC | {"image": f"{IMAGE}:1"}
        made = store.save_definition("ann", Kind.TRAINING, f"t{number}", spec, NOW).id
        registry.used = True
    store.release_image(str(number))
    return made


def delete(store, registry, number):
    """Write the deletion, look what uses the image, then remove it."""
    store.delete_image(f"d{number}", IMAGE, UNTIL)
    if not store.image_claimed(IMAGE, NOW) and not store.image_uses(f"{IMAGE}:"):
        registry.there = False
    store.image_deleted(f"d{number}")


def test_no_run_is_started_of_an_image_that_is_gone(url):
    store = open_database(url)
    World(store)
    both = [open_database(url), open_database(url)]
    seen = set()
    for number in range(ROUNDS):
        registry, begin, made = Registry(), threading.Barrier(2), []

        def one(do, own, late, registry=registry, begin=begin, made=made, number=number):
            begin.wait()
            # In turn the one, the other, and none of them is a little later.
            time.sleep(0.002 * late)
            made.append(do(own, registry, number))

        late = number % 3
        threads = [
            threading.Thread(target=one, args=(start, both[0], late == 1)),
            threading.Thread(target=one, args=(delete, both[1], late == 2)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert registry.there or not registry.used
        seen.add((registry.there, registry.used))
        for id in filter(None, made):
            store.delete_definition(id, NOW)
    assert seen == {(True, True), (False, False)}
    for each in (store, *both):
        each.close()
