"""The owner of a database cannot have the administrator, who verifies backups, run his functions."""

import psycopg

from avadm_node.agents.database import backup, look, verify

TRAPS = """
CREATE SCHEMA evil;
CREATE TABLE evil.called (who text);
CREATE FUNCTION evil.note() RETURNS text LANGUAGE plpgsql SECURITY INVOKER AS
  $$BEGIN INSERT INTO evil.called VALUES (current_user); RETURN '0001'; END$$;
CREATE FUNCTION evil.json_build_array(text, bigint) RETURNS json LANGUAGE sql AS $$SELECT to_json(evil.note())$$;
CREATE FUNCTION evil.format(text, name, name) RETURNS text LANGUAGE sql AS $$SELECT evil.note()$$;
CREATE VIEW public.alembic_version AS SELECT evil.note() AS version_num;
CREATE TABLE public."a|1
b" (n int);
ALTER DATABASE trap SET search_path = evil, pg_catalog;
GRANT ALL ON SCHEMA evil TO PUBLIC;
GRANT ALL ON evil.called TO PUBLIC;
"""


def test_nothing_of_his_is_run(rig):
    rig.sql("CREATE ROLE mallory LOGIN")
    rig.sql("CREATE DATABASE trap OWNER mallory")
    with psycopg.connect(rig.server.url("trap"), autocommit=True) as connection:
        connection.execute("SET SESSION AUTHORIZATION mallory")
        connection.execute(TRAPS)
    # The trap is a good one: who looks without care is caught.
    with psycopg.connect(rig.server.url("trap"), autocommit=True) as connection:
        connection.execute("SELECT json_build_array('a', 1::bigint)")
        assert connection.execute("SELECT who FROM evil.called").fetchall() == [("postgres",)]
        connection.execute("TRUNCATE evil.called")
    look.look(rig.place)
    backup.make(rig.place)
    rig.archived()
    rig.role = "standby"
    found = verify.verify(rig.place, say=lambda line: None)
    assert found["wrong"] == []
    with psycopg.connect(rig.server.url("trap"), autocommit=True) as connection:
        assert connection.execute("SELECT who FROM evil.called").fetchall() == []
