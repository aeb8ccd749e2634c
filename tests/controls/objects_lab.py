"""Faults of the object store that are planted on a lab that has one (`lab up --with objects`)."""

from tests.controls.control import Act, Fault

USER = "avadm-accept-quota"

FAULTS = (
    Fault(
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
    Fault(
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
