"""Migrations: forward from each revision, with what is in the tables; the tables are those that the code thinks of."""

import threading

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from ava.db.base import WRITES
from ava.db.database import config, migrate, open_database, revisions
from ava.db.migrate import main
from ava.db.tables import metadata
from ava.domain.model import Kind, Outcome, Phase, Quota, Topic, UserState
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError
from ava.domain.resources import Resources
from tests.unit.ava.db.world import ONE, World, later

SCRIPTS = ScriptDirectory.from_config(config())
ORDER = [script.revision for script in reversed(list(SCRIPTS.walk_revisions()))]
THEN = "2026-11-24 12:00:00.000000+00:00"
WRITTEN = {
    "0001": [
        "UPDATE numbers SET last = 20004",
        "INSERT INTO groups (name, id, gid, quota_gpu, used_gpu, used_cpu, used_memory, created)"
        " VALUES ('vision', 'g1aaaaaaaaaaa', 20001, 4, 0, 0, 0, :then)",
        "INSERT INTO users (name, id, email, password, uid, admin, state, default_group, created)"
        " VALUES ('ann', 'u1aaaaaaaaaaa', 'ann@example.org', 'hash', 20002, true, 'active', 'vision', :then)",
        "INSERT INTO members (group_name, user_name, since) VALUES ('vision', 'ann', :then)",
        "INSERT INTO pools (name, id, gpu, selector, cpu_ratio, memory_ratio, gpu_slots)"
        " VALUES ('gpus', 'p1aaaaaaaaaaa', true, '{\"a\": \"b\"}', 2.0, 1.0, 4)",
        "UPDATE queues SET pool = 'gpus', priority = 60 WHERE name = 'default'",
        "INSERT INTO definitions (id, kind, owner, name, spec, created)"
        " VALUES ('d1aaaaaaaaaaa', 'training', 'ann', 'train', '{\"image\": \"x\", \"env\": {\"A\": \"b\"}}', :then)",
    ],
    "0002": [
        "INSERT INTO runs (id, definition, kind, name, owner, group_name, queue, priority, cluster, key, spec,"
        " gpu, cpu, memory, phase, created, admitted, waits_for)"
        " VALUES ('r1aaaaaaaaaaa', 'd1aaaaaaaaaaa', 'training', 'train', 'ann', 'vision', 'default', 50, 'default',"
        " 'key', '{\"image\": \"x\"}', 1, 1000, 1073741824, 'admitted', :then, :then, '[]')",
        "INSERT INTO charges (run, group_name, queue, user_name, gpu, cpu, memory, began)"
        " VALUES ('r1aaaaaaaaaaa', 'vision', 'default', 'ann', 1, 1000, 1073741824, :then)",
        "UPDATE groups SET used_gpu = 1, used_cpu = 1000, used_memory = 1073741824",
        "UPDATE queues SET used_gpu = 1, used_cpu = 1000, used_memory = 1073741824",
    ],
    "0003": [
        "INSERT INTO messages (topic, kind, object, payload, created)"
        " VALUES ('operator', 'run-admitted', 'r1aaaaaaaaaaa', '{}', :then)",
        "INSERT INTO audit (at, who, action, object, outcome, address, detail)"
        " VALUES (:then, 'ann', 'submit', 'run r1aaaaaaaaaaa', 'ok', '::1', '{}')",
        "INSERT INTO keys (user_name, kind, name, value, created) VALUES ('ann', 'ssh', 'laptop', 'ssh-x', :then)",
    ],
    "0004": [],
    "0005": [
        "INSERT INTO services (run, wanted, target, settled, since, scaled)"
        " VALUES ('r1aaaaaaaaaaa', 1, 0, 0, :then, :then)",
        "INSERT INTO revisions (run, revision, spec, created) VALUES ('r1aaaaaaaaaaa', 0, '{}', :then)",
    ],
    "0006": [
        "INSERT INTO benches (definition, host_key, host_public, token, created)"
        " SELECT id, 'sealed', 'ssh-ed25519 AAAA', 'sealed', :then FROM definitions",
    ],
    "0007": [
        "INSERT INTO folders (kind, name, made, quota) VALUES ('group', 'vision', :then, 1000)",
        "INSERT INTO data_sets (id, owner, name, source, readers, created)"
        " VALUES ('f1aaaaaaaaaaa', 'ann', 'digits', '{}', 1, :then)",
        "INSERT INTO shares (data_set, kind, who, since) VALUES ('f1aaaaaaaaaaa', 'group', 'vision', :then)",
        "INSERT INTO holds (run, data_set, write, since) VALUES ('r1aaaaaaaaaaa', 'f1aaaaaaaaaaa', false, :then)",
        "INSERT INTO uploads (id, data_set, user_name, path, length, created)"
        " VALUES ('w1aaaaaaaaaaa', 'f1aaaaaaaaaaa', 'ann', 'a/b', 5, :then)",
    ],
    "0008": [
        "INSERT INTO identities (issuer, subject, user_name, created) VALUES ('https://id', 's', 'ann', :then)",
        "INSERT INTO spent (digest, until) VALUES ('d', :then)",
    ],
    "0009": [
        "INSERT INTO disks (definition, group_name, cluster, wanted, created)"
        " SELECT id, 'vision', 'default', 1000, :then FROM definitions",
        "INSERT INTO idle_exempt (definition, since) SELECT id, :then FROM definitions",
    ],
    "0010": [
        "INSERT INTO elsewhere (data_set, volume, size, cached, seen)"
        " VALUES ('f1aaaaaaaaaaa', 'pvc-1', 5, 4, :then)",
    ],
    "0011": ["INSERT INTO queues (name, id, priority, deleted) VALUES ('gone', 'q1bbbbbbbbbbb', 50, :then)"],
    "0012": ["INSERT INTO image_deletions (id, repository, until) VALUES ('x', 'users/ann/torch', :then)"],
    "0013": [],
    "0014": [],
    "0015": [],
    "0016": [],
    "0017": [],
    "0018": [],
    "0019": [],
    "0020": [],
    "0021": [],
    "0022": [
        "INSERT INTO node_drains (cluster, node, asked_by, begun, until)"
        " VALUES ('default', 'comp1', 'ann', :then, :then)",
        "INSERT INTO node_drain_runs (cluster, node, run) VALUES ('default', 'comp1', 'r1aaaaaaaaaaa')",
    ],
}
"""What a platform of each revision may have written; a further revision adds its own, or an empty list."""


@pytest.fixture
def empty(tmp_path):
    return f"sqlite:///{tmp_path / 'empty.db'}"


def upgrade(url, revision):
    db = open_database(url)
    with db.engine.execution_options(**{WRITES: True}).begin() as connection:
        command.upgrade(config({"connection": connection}), revision)
    db.close()


def write(url, revision):
    db = open_database(url)
    then = THEN.partition("+")[0] if db.engine.dialect.name == "sqlite" else THEN
    with db.engine.begin() as connection:
        for statement in WRITTEN[revision]:
            connection.execute(text(statement), {"then": then} if ":then" in statement else {})
    db.close()


def test_there_is_one_line_of_revisions_and_no_way_back():
    assert len(SCRIPTS.get_heads()) == len(SCRIPTS.get_bases()) == 1
    assert not any(hasattr(SCRIPTS.get_revision(r).module, "downgrade") for r in ORDER)


def test_each_revision_is_tried_with_data():
    assert list(WRITTEN) == ORDER, "WRITTEN says what each revision found"


# A migration that landed stays as it is.
LANDED = [pytest.param(n, marks=pytest.mark.slow) for n in range(2, len(ORDER) - 2)]


@pytest.mark.parametrize("last", [1, *LANDED, *range(len(ORDER) - 2, len(ORDER) + 1)])
def test_what_was_written_at_a_revision_is_there_after_the_next(empty, last):
    for revision in ORDER[:last]:
        upgrade(empty, revision)
        write(empty, revision)
    assert revisions(empty) == (ORDER[last - 1], ORDER[-1])
    migrate(empty)
    assert revisions(empty) == (ORDER[-1], ORDER[-1])
    db = open_database(empty)
    ann = db.users.get("ann")
    assert (ann.uid, ann.admin, ann.state, ann.default_group) == (20002, True, UserState.ACTIVE, "vision")
    assert db.groups.get("vision").quota == Quota(4, None, None)
    (definition,) = db.definitions.list(owner="ann", kind=Kind.TRAINING).items
    assert definition.spec == {"image": "x"} and definition.created == later(0)
    assert db.definitions.get(definition.id).spec == {"image": "x", "env": {"A": "b"}}
    assert db.pools.list()[0].selector == {"a": "b"} and db.queues.list()[0].pool == "gpus"
    assert db.users.create("bob", "bob@example.org", "h", later(1)).uid == 20005
    if last >= 2:
        assert db.runs.get("r1aaaaaaaaaaa").phase is Phase.ADMITTED
        db.runs.finish("r1aaaaaaaaaaa", Outcome.SUCCEEDED, "", later(60))
        assert db.groups.get("vision").used == Resources()
        assert db.charges.list()[0].amount == ONE and db.charges.list()[0].ended == later(60)
        # What was charged by a release before is billed as it was: from admission on.
        (usage,) = db.charges.usage(later(0), later(90), now=later(90))
        assert (usage.gpu_seconds, usage.reserved.gpu) == (60, 60) and db.runs.get(
            "r1aaaaaaaaaaa"
        ).started == later(0)
    if last >= 3:
        assert db.outbox.list_open(Topic.OPERATOR)[0].kind == "run-admitted"
        assert db.audit.list(who="ann").items[0]["action"] == "submit"
        assert db.keys.list("ann", "ssh") == {"laptop": "ssh-x"}
    db.close()


def test_migrating_again_changes_nothing(url):
    db = open_database(url)
    world = World(db)
    run = world.running()
    before = db.groups.get("vision"), db.runs.get(run.id), db.charges.list()
    migrate(url)
    assert before == (db.groups.get("vision"), db.runs.get(run.id), db.charges.list())
    db.close()


def test_the_tables_are_those_that_the_code_thinks_of(db):
    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_replicas_that_start_at_once_migrate_once(empty):
    errors = []

    def begin():
        try:
            migrate(empty)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert revisions(empty)[0] == ORDER[-1]


def test_a_migration_that_fails_leaves_what_was_there(empty, monkeypatch):
    upgrade(empty, ORDER[0])
    write(empty, ORDER[0])

    def fails(*_args, **_kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(SCRIPTS.get_revision(ORDER[-1]).module, "upgrade", fails)
    monkeypatch.setattr(ScriptDirectory, "from_config", lambda _config: SCRIPTS)
    with pytest.raises(ZeroDivisionError):
        migrate(empty)
    monkeypatch.undo()
    assert revisions(empty)[0] == ORDER[0]
    migrate(empty)
    db = open_database(empty)
    assert db.users.get("ann").uid == 20002
    db.close()


def test_an_upgrade_keeps_addresses_confirmed_but_those_of_accounts_that_wait_for_approval(empty):
    upgrade(empty, "0018")
    db = open_database(empty)
    row = (
        "INSERT INTO users (name, id, email, password, uid, admin, state, created)"
        " VALUES ('{0}', 'u-{0}', '{0}@example.org', 'hash', {1}, false, '{2}', '2026-11-24 12:00:00.000000')"
    )
    people = [("ann", "active"), ("dan", "disabled"), ("eve", "pending"), ("mia", "pending")]
    with db.engine.begin() as connection:
        for n, (name, state) in enumerate(people):
            connection.execute(text(row.format(name, 30000 + n, state)))
        connection.execute(
            text(
                "INSERT INTO identities (issuer, subject, user_name, created)"
                " VALUES ('https://id', 's', 'mia', '2026-11-24 12:00:00.000000')"
            )
        )
    db.close()
    upgrade(empty, "0019")
    db = open_database(empty)
    assert {u.name for u in db.users.list().items if u.email_confirmed is not None} == {"ann", "dan", "mia"}
    db.close()


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(url, capsys):
    db = open_database(url)
    World(db).running()
    with db.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = db.runs.list(), db.charges.list()
    with pytest.raises(ApiError) as error:
        migrate(url)
    assert [p.code for p in error.value.problems] == ["database-newer"]
    assert main([url]) == 1
    shown = capsys.readouterr().err
    assert "newer version" in shown and "Traceback" not in shown
    assert revisions(url)[0] == "9999"
    assert before == (db.runs.list(), db.charges.list())
    db.close()


LOST = "Pod worker 1 on gpu7: its node does not answer"
REASONS = {
    "Stopped by ann.": "Stopped by {by}.",
    "It ran for its time limit of 3600 s.": "It ran for its time limit of {seconds} s.",
    "It waited for the run r1bbbbbbbbbbb (train), which failed.": "It waited for the run {id} ({name}), which failed.",
    f"{LOST}.": "Pod {role} {index} on {node}: {why}.",
    f"{LOST} (no word (for 300 s). It was late).": "Pod {role} {index} on {node}: {why} ({words}).",
    "Pod worker 0: it was ended by signal 35.": "Pod {role} {index}: {why}.",
    "Pod ps 0: its command failed with exit code 3 (a\nb). It was started 4 times.": "{first} {second}",
}
"""Reasons that a release before 0020 wrote, and the template of each."""
UNKNOWN = [
    "Stopped by ann",
    "It ran for its time limit of many s.",
    "Pod worker 0: it exploded.",
    "Pod worker 0: it failed. It was painted 3 times.",
    f"{LOST}. It was started 4 times. {{first}}",
    "{first} {second}",
    "Traceback (most recent call last):",
]
"""What users and nodes may have written, or a release that is not known."""


def test_old_reasons_become_phrases_and_no_text_changes(empty):
    for revision in ORDER[: ORDER.index("0020") + 1]:
        upgrade(empty, revision)
        write(empty, revision)
    texts = {f"r1{n:011d}": reason for n, reason in enumerate([*REASONS, *UNKNOWN])}
    copy = (
        "INSERT INTO runs (id, key, reason, phase, outcome, finished, definition, kind, name, owner, group_name, queue,"
        " priority, cluster, spec, gpu, cpu, memory, created, admitted, waits_for)"
        " SELECT :id, :id, :reason, 'finished', 'failed', admitted, definition, kind, name, owner, group_name, queue,"
        " priority, cluster, spec, gpu, cpu, memory, created, admitted, waits_for FROM runs WHERE id = 'r1aaaaaaaaaaa'"
    )
    db = open_database(empty)
    with db.engine.begin() as connection:
        connection.execute(text(copy), [{"id": id, "reason": reason} for id, reason in texts.items()])
    db.close()
    migrate(empty)
    db = open_database(empty)
    found = {id: db.runs.get(id).reason for id in texts}
    db.close()
    assert found == texts
    templates = {str(r): r.template for r in found.values() if isinstance(r, Phrase)}
    assert templates == REASONS
