"""PostgreSQL's backups as they were installed: one is made, proven by restoring it, and not at its members' mercy."""

import json

import pytest

from tests.lab.faults.drive import avadm

pytestmark = [pytest.mark.lab]

BUCKET = "avadm-database"
# Asks the store as a member does, with the keys of pgbackrest's configuration; boto3 is on client nodes. The program comes last.
ASK = """
import json, sys, boto3
from botocore.config import Config
from botocore.exceptions import ClientError
given = json.load(sys.stdin)
s3 = boto3.client("s3", endpoint_url=given["endpoint"], region_name="default", aws_access_key_id=given["key"],
    aws_secret_access_key=given["secret"], verify="/etc/avadm/objects/ca.crt",
    config=Config(signature_version="s3v4", s3={"addressing_style": "path"}))
try:
    print(json.dumps(given["program"] and eval(given["program"], {"s3": s3, "B": given["bucket"]}), default=str))
except ClientError as error:
    print(json.dumps({"refused": error.response["Error"]["Code"]}))
"""


@pytest.fixture
def backed(database):
    """The lab's PostgreSQL with backups and at least one of them."""
    listed = avadm("database", "backups", "--json")
    if listed.returncode == 2 and "no backups of PostgreSQL" in listed.stderr:
        pytest.skip("this lab has no object store: `avadm lab up --with objects --with database`")
    if listed.returncode == 1:
        made = avadm("database", "backup")
        assert made.returncode == 0, made.stderr
    return database


@pytest.fixture
def member(lab, backed):
    """Return a function that asks the store as the standby does."""
    _, standby = backed.roles()
    lines = lab.sh(standby, "cat /etc/pgbackrest/pgbackrest.conf").splitlines()
    report = dict(line.split("=", 1) for line in lines if "=" in line)
    where = f"https://{report['repo1-s3-endpoint']}:{report['repo1-storage-port']}"
    keys = {"endpoint": where, "key": report["repo1-s3-key"], "secret": report["repo1-s3-key-secret"]}

    def ask(program, bucket=BUCKET):
        given = json.dumps({**keys, "program": program, "bucket": bucket})
        # Its keys are no words of a command line.
        done = backed._run(
            standby, f"cat >/run/h.json; python3 -c '{ASK}' </run/h.json; rm -f /run/h.json", given
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def test_a_backup_is_made_where_the_primary_is_and_wal_is_archived(lab, backed):
    primary, _ = backed.roles()
    made = avadm("database", "backup", "--json")
    assert made.returncode == 0, made.stderr
    report = json.loads(made.stdout)
    assert report["node"] == primary
    listed = json.loads(avadm("database", "backups", "--json").stdout)["backups"]
    assert listed[-1]["label"] == report["backup"]["label"]
    segment = backed.own(primary, "SELECT pg_walfile_name(pg_switch_wal())")[0]
    info = "runuser -u postgres -- pgbackrest --stanza=avadm info --output=json"
    lab.sh(primary, f"timeout 60 sh -c 'until {info} | grep -q {segment}; do sleep 1; done'", 90)


def test_the_newest_backup_is_proven_on_the_standby_and_nothing_is_left_of_it(lab, backed):
    _, standby = backed.roles()
    before = lab.sh(standby, "ls /var/lib/postgresql/*")
    done = avadm("database", "verify", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["node"], report["wrong"]) == (standby, [])
    assert report["lag_s"] < 900
    assert lab.sh(standby, "ls /var/lib/postgresql/*") == before
    metrics = lab.sh(standby, "cat /var/lib/prometheus/node-exporter/avadm-database.prom")
    assert f"avadm_database_verified_timestamp_seconds {report['at']}" in metrics


# Verifies as the program does, but damages a page of what was restored before anybody looks at it.
DAMAGED = """
import glob, json, os, sys
sys.path.insert(0, max(glob.glob("/usr/lib/avadm/database-*.pyz"), key=os.path.getmtime))
from avadm_node.agents.database import place, verify
bring = verify.bring
def damaging(here, folder, *words):
    bring(here, folder, *words)
    with open(folder + "/base/1/1255", "r+b") as file:
        file.seek(8192 * 3 + 4000)
        file.write(b"damaged")
verify.bring = damaging
print(json.dumps(verify.verify(place.settled(), say=lambda line: None)))
"""


def test_a_damaged_page_is_found(lab, backed):
    _, standby = backed.roles()
    report = json.loads(lab.sh(standby, f"python3 -c '{DAMAGED}'", 300).splitlines()[-1])
    assert not report["good"]
    assert any("checksum" in line for line in report["wrong"]), report
    doctor = avadm("doctor", "--only", "database-verified", "--json")
    assert doctor.returncode == 1
    assert standby in doctor.stdout
    again = avadm("database", "verify")
    assert again.returncode == 0, again.stdout


def test_a_member_can_cover_up_but_not_destroy_and_reaches_no_other_bucket(member):
    keys = [o["Key"] for o in member("s3.list_objects(Bucket=B)")["Contents"]]
    assert any("backup.info" in key for key in keys)
    assert member('s3.put_object(Bucket=B, Key="lab-test", Body=b"first")')["VersionId"]
    first = member('s3.get_object(Bucket=B, Key="lab-test")')["VersionId"]
    assert "refused" not in member('s3.delete_object(Bucket=B, Key="lab-test")')
    for program in (
        f's3.delete_object(Bucket=B, Key="lab-test", VersionId="{first}")',
        's3.put_bucket_versioning(Bucket=B, VersioningConfiguration={"Status": "Suspended"})',
        "s3.delete_bucket_policy(Bucket=B)",
        "s3.delete_bucket_lifecycle(Bucket=B)",
        "s3.delete_bucket(Bucket=B)",
    ):
        assert member(program) == {"refused": "AccessDenied"}, program
    assert member("s3.list_objects(Bucket=B)", "avadm-etcd") == {"refused": "AccessDenied"}
    assert member("s3.list_objects(Bucket=B)", "lab-data") == {"refused": "AccessDenied"}


def test_what_is_in_the_store_cannot_be_read_without_the_cipher(member):
    key = next(
        o["Key"] for o in member("s3.list_objects(Bucket=B)")["Contents"] if o["Key"].endswith("backup.info")
    )
    text = member(f's3.get_object(Bucket=B, Key="{key}")["Body"].read().hex()')
    assert bytes.fromhex(text).startswith(b"Salted__")
    assert b"avadm" not in bytes.fromhex(text)


def test_a_restore_over_a_living_database_is_refused_without_the_site_s_name(backed):
    primary, standby = backed.roles()
    for word in ([], ["--over-living", primary]):
        done = avadm("database", "restore", "--to", "latest", *word)
        assert done.returncode != 0
        assert f"{primary} is the primary" in done.stderr
        assert "Nothing was changed" in done.stderr
    assert backed.roles() == (primary, standby)
