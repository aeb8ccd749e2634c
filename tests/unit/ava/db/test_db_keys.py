"""Keys of users."""

from tests.unit.ava.db.world import NOW, code, later


def test_keys_are_kept_by_kind_and_name(world):
    world.db.keys.put("ann", "ssh", "laptop", "ssh-ed25519 AAAA", NOW)
    world.db.keys.put("ann", "ssh", "desk", "ssh-ed25519 BBBB", NOW)
    world.db.keys.put("ann", "deploy", "laptop", "sealed", NOW)
    world.db.keys.put("ann", "ssh", "laptop", "ssh-ed25519 CCCC", later(1))
    assert world.db.keys.list("ann", "ssh") == {"desk": "ssh-ed25519 BBBB", "laptop": "ssh-ed25519 CCCC"}
    world.db.keys.delete("ann", "ssh", "laptop")
    assert world.db.keys.list("ann", "ssh") == {"desk": "ssh-ed25519 BBBB"}
    assert world.db.keys.list("ann", "deploy") == {"laptop": "sealed"}
    assert code(world.db.keys.delete, "ann", "ssh", "laptop") == (404, "not-found")
    assert code(world.db.keys.put, "ann", "gpg", "x", "y", NOW) == (422, "kind-unknown")


def test_keys_of_others_are_not_touched(world):
    world.person("bob")
    world.db.keys.put("ann", "ssh", "laptop", "A", NOW)
    assert world.db.keys.list("bob", "ssh") == {}
    assert code(world.db.keys.delete, "bob", "ssh", "laptop") == (404, "not-found")
    assert world.db.keys.list("ann", "ssh") == {"laptop": "A"}
