"""Faults that turn the checks of the object store red: each changes what a store of the unit tests answers.

They are planted as raw data: what the clients' tool prints goes through the real checks, extraction and judgement. Those of
``LAB`` are planted on the lab.
"""

from tests.controls.control import Act, Fault, LabFault, controls

TEST = "tests/unit/validation/test_objects_suite.py::test_a_planted_fault_is_seen"

FAULTS = (
    Fault("no-answer", "the store does not answer a client", "A-S3-PRE", ("answers",), lambda s: s.deaf.add("c2"), "BLOCKED"),
    Fault("bit-flipped", "one object is read with another content", "A-S3-1", ("wrong",),
          lambda s: s.functions["got"].update(a="other")),
    Fault("list-short", "a listing ends after its first page", "A-S3-1", ("listed",), lambda s: s.functions["listed"].pop()),
    Fault("not-removed", "a removed object can still be read", "A-S3-1", ("left",),
          lambda s: s.functions.update(read_deleted="read")),
    Fault("open-to-all", "an object can be read without a key", "A-S3-2", ("refused",),
          lambda s: s.refusals["answers"].update({"no key": {"status": 200, "code": ""}})),
    Fault("nobody-admitted", "the right key is refused too: that the others are proves nothing", "A-S3-2", ("admitted",),
          lambda s: s.refusals["answers"].update({"right key": {"status": 403, "code": "AccessDenied"}})),
    Fault("plain-http", "the same port serves plain HTTP", "A-S3-2", ("plain",),
          lambda s: s.refusals["plain"].update(status=200)),
    Fault("no-quota", "the quota is not enforced", "A-S3-3", ("refused", "used"),
          lambda s: s.quota.update(accepted=3 * s.quota["quota"], code="")),
    Fault("quota-of-nothing", "every write is refused for the quota", "A-S3-3", ("refused", "granted"),
          lambda s: s.quota.update(accepted=0, readable=False)),
    Fault("slow-store", "writes get through at a tenth of the floor", "A-S3-4", ("put",), lambda s: s.rates.update(put=0.01)),
    Fault("failing-reads", "a read fails for good under load", "A-S3-4", ("errors",),
          lambda s: s.load_errors.append([10, "InternalError"])),
    Fault("long-pause", "nothing is completed for 20 s when the gateway is lost", "A-S3-5", ("pause",),
          lambda s: setattr(s, "pause_ms", 20_000)),
    Fault("gateway-stays", "the gateway was not stopped at all: that nothing failed proves nothing", "A-S3-5", ("stopped",),
          lambda s: setattr(s, "during", "active")),
    Fault("setting-lost", "the setting does not reach the program: the gateway refuses it as it does without", "A-S3-6",
          ("served",), lambda s: s.today.update({"with": s.today["without"]})),
)  # fmt: skip

CONTROLS = controls(FAULTS, TEST)

USER = "avadm-accept-quota"

LAB = (
    LabFault(
        "gateways-stopped",
        "every gateway is stopped",
        (
            Act(
                "rgw",
                "systemctl stop ceph-radosgw@rgw.$(hostname)",
                "systemctl start ceph-radosgw@rgw.$(hostname)",
            ),
        ),
        {"A-S3-PRE": ()},
        verdict="BLOCKED",
    ),
    LabFault(
        "quota-off",
        "the quota of the suite's second user is switched off as soon as it is there",
        (
            Act(
                "mon:0",
                f"for i in $(seq 300); do if radosgw-admin user info --uid={USER} 2>/dev/null | tr -d ' \\n' "
                '| grep -q \'"user_quota":{"enabled":true\'; then '
                f"radosgw-admin quota disable --quota-scope=user --uid={USER}; exit $?; fi; sleep 0.2; done; exit 1",
            ),
        ),
        {"A-S3-3": ("refused", "used")},
        beside=True,
    ),
)
