#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_s3_bucket
short_description: Manage buckets of an S3 store and their versioning
description:
  - Makes the buckets that are not there, each with its owner's keys, over TLS alone; needs no library.
  - Versioning is switched on where it is wanted, and suspended where it is on and not wanted; versions that are
    there stay.
  - A policy that is given takes the place of what is there; without one it is left alone. So do the rules of I(former_days) and
    I(unfinished_days).
  - Buckets that are not named are left alone; nothing is ever deleted.
options:
  endpoint: {description: "URL, https://HOST or https://HOST:PORT.", type: str, required: true}
  connect: {description: Address to connect to in place of the name's., type: str, default: ""}
  region: {description: Region that requests are signed for., type: str, required: true}
  ca_certificate: {description: Certificate of the authority; PEM; empty for the system's., type: str, default: ""}
  place: {description: Whether the region is named when a bucket is made., type: bool, default: false}
  timeout: {description: Seconds to wait until the store answers., type: int, default: 60}
  buckets:
    description: The buckets.
    type: list
    elements: dict
    required: true
    suboptions:
      name: {description: Name., type: str, required: true}
      versioning: {description: Whether former versions are kept., type: bool, default: false}
      former_days: {description: Days for which former versions are kept; 0 for leaving that as it is., type: int, default: 0}
      unfinished_days: {description: Days after which the parts of an unfinished upload go., type: int, default: 7}
      policy: {description: What others than the owner may do; empty for leaving it as it is., type: dict, default: {}}
      access_key: {description: Access key of its owner., type: str, required: true}
      secret_key: {description: Secret key of its owner., type: str, required: true}
"""

EXAMPLES = r"""
- name: Create buckets
  avadm_s3_bucket:
    endpoint: https://objects.example.com:7443
    region: default
    buckets:
      - name: data
        versioning: true
        access_key: "{{ vault_s3_access_ai }}"
        secret_key: "{{ vault_s3_secret_ai }}"
"""

RETURN = r"""
actions:
  description: What was done (in check mode would be).
  type: list
  returned: success
"""

import json
import re
import time

from ansible.module_utils.avadm_s3 import S3, S3Error
from ansible.module_utils.basic import AnsibleModule

VERSIONING = (
    '<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>%s</Status>'
    "</VersioningConfiguration>"
)
PLACE = (
    '<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>%s'
    "</LocationConstraint></CreateBucketConfiguration>"
)

# What was covered up goes after some days, then the mark that covered it; what stands is never touched.
RULES = (
    '<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>avadm</ID><Prefix></Prefix>'
    "<Status>Enabled</Status><NoncurrentVersionExpiration><NoncurrentDays>%d</NoncurrentDays></NoncurrentVersionExpiration>"
    "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"
    "<AbortIncompleteMultipartUpload><DaysAfterInitiation>%d</DaysAfterInitiation></AbortIncompleteMultipartUpload>"
    "</Rule></LifecycleConfiguration>"
)
ELEMENT = re.compile(r"<(Status|NoncurrentDays|DaysAfterInitiation|ExpiredObjectDeleteMarker)>([^<]*)<")


def short(status, text):
    """Return an answer of the store for an error: its status, and the code that it gives."""
    code = re.search(r"<Code>([^<]*)</Code>", text)
    return "%d%s" % (status, " " + code.group(1) if code else "")


class Buckets(object):
    """The buckets of a store.

    Args:
        ask: callable(bucket, method, query, body) -> (status, text), with the keys of the bucket's owner.
        place: region that is named when a bucket is made; "" for none.
    """

    def __init__(self, ask, place="", check_mode=False, sleep=time.sleep, clock=time.time):
        self.ask, self.place, self.check_mode = ask, place, check_mode
        self.sleep, self.clock = sleep, clock
        self.actions = []

    def must(self, bucket, method, query=None, body=""):
        """Send a request; return its text; S3Error where it was not done."""
        status, text = self.ask(bucket, method, query or {}, body.encode("utf-8"))
        if status not in (200, 204):
            raise S3Error(
                "%s of the bucket %s was refused: %s" % (method, bucket["name"], short(status, text))
            )
        return text

    def ensure(self, bucket, timeout=0):
        """Make a bucket right, once the store answers."""
        name = bucket["name"]
        status = self.there(bucket, timeout)
        if status in (403, 301):
            raise S3Error(
                "The bucket %s is there and belongs to somebody else (or in another region), or the key is not"
                " known. Remedy: choose another name, or see that the keys are right." % name
            )
        if status == 404:
            self.actions.append("make %s" % name)
            if self.check_mode:
                return
            self.must(bucket, "PUT", body=PLACE % self.place if self.place else "")
        elif status != 200:
            raise S3Error("The store does not tell whether there is a bucket %s: %d" % (name, status))
        self.version(bucket)
        if bucket.get("former_days"):
            self.expire(bucket)
        if bucket["policy"]:
            self.allow(bucket)

    def there(self, bucket, timeout):
        """Return the status of a question for a bucket; waits while no server answers, or only to say that he cannot."""
        deadline = self.clock() + timeout
        while True:
            try:
                status, reply = self.ask(bucket, "HEAD", {}, b"")[0], None
            except S3Error as error:
                status, reply = 503, error
            if status < 500:
                return status
            if self.clock() >= deadline:
                raise reply or S3Error("The store answers with %d, for %d s now." % (status, timeout))
            self.sleep(2)

    def version(self, bucket):
        """Switch versioning on, or suspend it."""
        text = self.must(bucket, "GET", {"versioning": ""})
        found = re.search(r"<Status>(\w+)</Status>", text)
        on = bool(found) and found.group(1) == "Enabled"
        if on == bucket["versioning"]:
            return
        state = "Enabled" if bucket["versioning"] else "Suspended"
        self.actions.append("versioning of %s: %s" % (bucket["name"], state))
        if not self.check_mode:
            self.must(bucket, "PUT", {"versioning": ""}, VERSIONING % state)

    def expire(self, bucket):
        """Have former versions removed after a time, where the rules are others."""
        status, text = self.ask(bucket, "GET", {"lifecycle": ""}, b"")
        if status not in (200, 404):
            raise S3Error("The rules of %s cannot be read: %s" % (bucket["name"], short(status, text)))
        wanted = RULES % (bucket["former_days"], bucket["unfinished_days"])
        if sorted(ELEMENT.findall(text if status == 200 else "")) == sorted(ELEMENT.findall(wanted)):
            return
        self.actions.append(
            "former versions of %s: kept for %d days" % (bucket["name"], bucket["former_days"])
        )
        if not self.check_mode:
            self.must(bucket, "PUT", {"lifecycle": ""}, wanted)

    def allow(self, bucket):
        """Set the policy where it is another one."""
        status, text = self.ask(bucket, "GET", {"policy": ""}, b"")
        if status not in (200, 404):
            raise S3Error("The policy of %s cannot be read: %s" % (bucket["name"], short(status, text)))
        try:
            found = json.loads(text) if status == 200 else None
        except ValueError:
            found = None
        if found == bucket["policy"]:
            return
        self.actions.append("policy of %s" % bucket["name"])
        if not self.check_mode:
            self.must(bucket, "PUT", {"policy": ""}, json.dumps(bucket["policy"], sort_keys=True))


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "endpoint": {"type": "str", "required": True},
            "connect": {"type": "str", "default": ""},
            "region": {"type": "str", "required": True},
            "ca_certificate": {"type": "str", "default": ""},
            "place": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 60},
            "buckets": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "name": {"type": "str", "required": True},
                    "versioning": {"type": "bool", "default": False},
                    "former_days": {"type": "int", "default": 0},
                    "unfinished_days": {"type": "int", "default": 7},
                    "policy": {"type": "dict", "default": {}},
                    "access_key": {"type": "str", "required": True, "no_log": True},
                    "secret_key": {"type": "str", "required": True, "no_log": True},
                },
            },
        },
        supports_check_mode=True,
    )
    given = module.params

    def ask(bucket, method, query, body):
        keys = (bucket["access_key"], bucket["secret_key"])
        store = S3(given["endpoint"], keys, given["region"], given["ca_certificate"], given["connect"])
        return store.ask(method, bucket["name"], query, body)

    work = Buckets(ask, given["region"] if given["place"] else "", module.check_mode)
    try:
        for bucket in given["buckets"]:
            work.ensure(bucket, 0 if module.check_mode else given["timeout"])
    except S3Error as error:
        if module.check_mode:
            # A dry run before the first gateway: all of it would be made.
            module.exit_json(changed=True, actions=["make " + b["name"] for b in given["buckets"]])
        module.fail_json(
            msg="Cannot keep the buckets: %s Done before: %s" % (error, "; ".join(work.actions) or "nothing")
        )
    module.exit_json(changed=bool(work.actions), actions=work.actions)


if __name__ == "__main__":
    main()
