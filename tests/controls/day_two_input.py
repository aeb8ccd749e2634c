"""Bad input of the verbs of day two: a row of the page of invalid input, and a case of tests/unit/cli/test_day_two_input.py."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BadInput:
    """A command that is refused: exit status 2, and nothing has changed.

    Attributes:
        verb: of tests/controls/day_two.py.
        kind: what is wrong, in words.
        words: what follows the verb.
        checks: ids of the findings, in their order; none for a usage error.
        room: the site on which it is tried: cluster, maintenance, disks, power, versions, ava or cache.
        fault: what is done before: locked, vault, edited (between the plan and the run), COMPONENT=VERSION that runs, or
            in the room ava ATTRIBUTE=VALUE of tests/unit/operations/ava_versions.py.
    """

    verb: str
    kind: str
    words: str
    checks: tuple[str, ...]
    room: str = "cluster"
    fault: str = ""


BEGIN = "maintenance begin"
FOR = "--for 2h --reason memory"
GOOD = {
    BEGIN: (f"stor4 {FOR}", "maintenance"),
    "maintenance end": ("stor4", "maintenance"),
    "disk replace": ("stor1 osd.0", "disks"),
    "node add": ("stor5 --address 10.9.0.15 --role client", "cluster"),
    "node remove": ("stor4", "cluster"),
    "node replace": ("stor4 --name stor9 --address 10.9.0.99 --serial S1", "cluster"),
    "power down": ("--notice 1h", "power"),
    "power up": ("", "power"),
    "upgrade": ("etcd --to lab-bookworm-newer", "versions"),
    "upgrade ava": ("", "ava"),
    "cache masters": ("comp1 comp2 comp3", "cache"),
}
"""Words that are good where nothing is planted, by verb, and the site for them."""

NAMES = (
    BadInput(BEGIN, "unknown name", f"stor9 {FOR}", ("unknown-node",)),
    BadInput(BEGIN, "unknown rack", f"--rack none {FOR}", ("unknown-rack",)),
    BadInput(BEGIN, "nodes and a rack", f"stor4 --rack rack1 {FOR}", ()),
    BadInput(BEGIN, "unknown id accepted", f"stor4 {FOR} --accept all", ("accept-unknown",), "maintenance"),
    BadInput("maintenance end", "unknown name", "stor9", ("maintenance-unknown",)),
    BadInput("maintenance end", "not in a maintenance", "stor4", ("maintenance-unknown",)),
    BadInput("disk replace", "unknown node", "stor9 osd.0", ("unknown-node",)),
    BadInput("disk replace", "unknown OSD", "stor1 osd.9", ("replace-osd",), "disks"),
    BadInput("node add", "name that a node has", "stor4 --address 10.9.0.99 --role client", ("node-known",)),
    BadInput(
        "node add", "address that a node has", "stor5 --address 10.9.0.11 --role client", ("node-known",)
    ),
    BadInput("node add", "unknown role", "stor5 --address 10.9.0.99 --role nothing", ("wrong-value",)),
    BadInput(
        "node add",
        "address outside the network",
        "stor5 --address 10.99.0.99 --role client",
        ("address-outside",),
    ),
    BadInput("node remove", "unknown name", "stor9", ("unknown-node",)),
    BadInput("node remove", "role that the node has not", "stor4 --role mon", ("role-absent",)),
    BadInput("node remove", "a living node as dead", "stor4 --dead", ("not-dead",)),
    BadInput("node replace", "unknown name", "stor9 --name stor10 --address 10.9.0.99", ("unknown-node",)),
    BadInput(
        "node replace", "name that a node has", "stor4 --name stor1 --address 10.9.0.99", ("node-known",)
    ),
    BadInput("node replace", "a new name without its address", "stor4 --name stor9", ()),
    BadInput(
        "node replace",
        "a living node as dead",
        "stor4 --name stor9 --address 10.9.0.99 --serial S1 --dead",
        ("not-dead",),
    ),
    BadInput("power down", "unknown id accepted", "--accept all", ("accept-unknown",), "power"),
    BadInput("power up", "unknown id accepted", "--accept all", ("accept-unknown",), "power"),
    BadInput("node drain", "unknown name", "stor9", ("unknown-node",)),
    BadInput(
        "upgrade",
        "unknown component",
        "etdc --to lab-bookworm-newer",
        ("component-not-supported",),
        "versions",
    ),
    BadInput("upgrade", "unknown profile", "etcd --to lab-nowhere", ("unknown-profile",), "versions"),
    BadInput("upgrade", "no profile", "etcd", (), "versions"),
    BadInput("upgrade ava", "a profile", "--to lab-bookworm-newer", ("upgrade-alone",), "versions"),
    BadInput("upgrade ava", "another component", "etcd", ("upgrade-alone",), "versions"),
    BadInput("upgrade ava", "options of a drain", "--notice 1h --stop-runs", (), "ava"),
    BadInput("upgrade", "options of a drain", "etcd --to lab-bookworm-newer --timeout 60", (), "versions"),
    BadInput("upgrade ava", "a site without AVA", "", ("upgrade-no-node",), "versions"),
    BadInput("upgrade ava", "unknown id accepted", "--accept all", ("accept-unknown",), "ava"),
    BadInput("cache masters", "unknown name", "comp1 comp2 comp9", ("unknown-node",), "cache"),
    BadInput("cache masters", "two masters", "comp1 comp2", ("quorum-even",), "cache"),
    BadInput("cache masters", "the masters that it has", "comp1", ("cache-masters-known",), "cache"),
    BadInput("cache masters", "a site without a cache", "stor1 stor2 stor3", ("cache-absent",)),
    BadInput(
        "cache masters", "unknown id accepted", "comp1 comp2 comp3 --accept all", ("accept-unknown",), "cache"
    ),
)
DISKS = (
    BadInput("disk replace", "OSD of another node", "stor1 osd.2", ("replace-osd",), "disks"),
    BadInput(
        "disk replace",
        "new disk in another node",
        "stor1 osd.0 --with wwn-B2",
        ("disk-name", "replace-elsewhere", "replace-in-use"),
        "disks",
    ),
    BadInput("disk replace", "a working disk", "stor1 osd.0", ("replace-in-use", "replace-no-disk"), "disks"),
    BadInput(
        "node add",
        "one disk twice",
        "stor5 --address 10.9.0.99 --role osd --serial S1 --serial S1",
        ("disk-twice",),
    ),
    BadInput(
        "node add", "an OSD without disks", "stor5 --address 10.9.0.99 --role osd", ("osd-without-disks",)
    ),
    BadInput(
        "node add",
        "disks without an OSD",
        "stor5 --address 10.9.0.99 --role client --serial S1",
        ("disks-without-osd",),
    ),
)
LAST = (
    BadInput(
        BEGIN,
        "majority of the monitors",
        f"stor1 stor2 {FOR}",
        ("mon-quorum", "filesystem-stops"),
        "maintenance",
    ),
    BadInput("node remove", "one of three monitors", "stor1", ("quorum-even",)),
    BadInput("node remove", "a role that stays", "comp1 --role client", ("role-not-supported",)),
)
VERSIONS = (
    BadInput(
        "upgrade",
        "downgrade (etcd 3.6 runs)",
        "etcd --to lab-bookworm-newer",
        ("upgrade-downgrade",),
        "versions",
        "etcd=3.6.4",
    ),
    BadInput(
        "upgrade",
        "skipped release (etcd 3.3 runs)",
        "etcd --to lab-bookworm-newer",
        ("upgrade-skips-release",),
        "versions",
        "etcd=3.3.25",
    ),
)
AVA = (
    BadInput(
        "upgrade ava",
        "a database of a newer AVA",
        "",
        ("upgrade-database-newer",),
        "ava",
        "revision=0009",
    ),
    BadInput("upgrade ava", "an image that is not built", "", ("artifact-missing",), "ava", "built="),
    BadInput("upgrade ava", "users do not get in", "", ("upgrade-unhealthy",), "ava", "way=HTTP 502"),
)
TIMES = (
    BadInput(BEGIN, "no time", "stor4 --for 0s --reason memory", ("maintenance-time",), "maintenance"),
    BadInput(BEGIN, "end in the past", "stor4 --for -2h --reason memory", ()),
    BadInput("power down", "notice of more than a week", "--notice 8d", ()),
    BadInput(BEGIN, "no reason", "stor4 --for 2h --reason ' '", ("maintenance-reason",), "maintenance"),
)
FAULTS = tuple(
    BadInput(verb, kind, words, (check,), room, fault)
    for verb, (words, room) in GOOD.items()
    for kind, check, fault in (
        ("another run's lock", "cluster-locked", "locked"),
        ("lost vault", "vault-lost", "vault"),
        ("site file changed since the plan", "site-file-changed", "edited"),
    )
)
ROWS = (*NAMES, *DISKS, *LAST, *VERSIONS, *AVA, *TIMES, *FAULTS)
"""All rows of the page."""
