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
        "the quota of the suite's second user is switched off",
        (
            Act(
                "mon:0",
                f"radosgw-admin quota disable --quota-scope=user --uid={USER}",
                f"radosgw-admin quota enable --quota-scope=user --uid={USER}",
            ),
        ),
        {"A-S3-3": ("refused", "used")},
    ),
)
