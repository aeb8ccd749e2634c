"""One starts a run of an image while another deletes it, each as the API does: in PostgreSQL too one sees the other."""

import threading
import time

from ava.db.database import open_database
from ava.domain.model import Kind
from tests.unit.ava.db.world import NOW, SPEC, World

ROUNDS, IMAGE = 60, "users/ann/torch"
UNTIL = NOW.replace(year=NOW.year + 1)


class Registry:
    """An image that is there or not; ``used`` is what was started of it."""

    there, used = True, False


def start(db, registry, number):
    """Claim the repository, wait for a deletion, ask for the image, then write the definition."""
    db.images.claim(str(number), IMAGE, UNTIL)
    while db.images.is_being_deleted(IMAGE, NOW):
        time.sleep(0.001)
    made = None
    if registry.there:
        spec = SPEC | {"image": f"{IMAGE}:1"}
        made = db.definitions.save("ann", Kind.TRAINING, f"t{number}", spec, NOW).id
        registry.used = True
    db.images.release(str(number))
    return made


def delete(db, registry, number):
    """Write the deletion, look what uses the image, then remove it."""
    db.images.begin_deletion(f"d{number}", IMAGE, UNTIL)
    if not db.images.is_claimed(IMAGE, NOW) and not db.images.uses(f"{IMAGE}:"):
        registry.there = False
    db.images.end_deletion(f"d{number}")


def test_no_run_is_started_of_an_image_that_is_gone(url):
    db = open_database(url)
    World(db)
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
            db.definitions.delete(id, NOW)
    assert seen == {(True, True), (False, False)}
    for each in (db, *both):
        each.close()
