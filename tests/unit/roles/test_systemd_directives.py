"""Every directive of every unit, and every option of systemd's programs, is known to the oldest systemd of the profiles (229)."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from avadm.site import profile

ROOT = Path(__file__).parents[3]
SECTION = re.compile(r"^\s*\[(Unit|Service|Timer|Socket|Path|Slice|Mount|Install)\]$")
DIRECTIVE = re.compile(r"^\s*([A-Z][A-Za-z]+)=(.*)$")
# Values of old directives that came later.
VALUES = {
    ("Service", "ProtectSystem"): {"strict": 232},
    ("Service", "ProtectHome"): {"tmpfs": 235},
    ("Service", "Type"): {"exec": 240, "notify-reload": 253},
}
# A call, as a list or in a shell's words, up to where the command ends.
CALL = re.compile(r"(?<![\w.-])(systemd-run|systemctl|journalctl|udevadm)(?![\w.-])")
CALL_ENDS = re.compile(r"&&|[;|`)\]]| (?:ba)?sh ")
"""Where a call's own options end; those of a shell that systemd-run starts are not systemd's."""
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
# Where units are written: templates, files, texts in variables and in modules.
PLACES = (
    "templates",
    "roles/*/templates",
    "roles/*/files",
    "roles/*/vars",
    "roles/*/defaults",
    "plugins/module_utils",
)

Line = tuple[str, str, str, str]
"""Where, section, directive, value."""


@cache
def table(name: str = "systemd_directives.yml") -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = yaml.safe_load((Path(__file__).parent / name).read_text())
    return found


def lines(path: Path) -> Iterator[Line]:
    """Return the directives of all units in a file; lines that continue, comments and Jinja are passed over."""
    section, goes_on = "", False
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        where = f"{path.relative_to(ROOT)}:{number}"
        if goes_on:
            goes_on = text.endswith("\\")
        elif found := SECTION.match(text):
            section = found[1]
        elif section and (found := DIRECTIVE.match(text)):
            goes_on = text.endswith("\\")
            yield where, section, found[1], found[2].strip()
        elif text.strip() and not text.strip().startswith(("#", "{", ";")):
            section = ""


def of_kube_units(path: Path) -> Iterator[Line]:
    """Return the lines that a role's variables give to the units of Kubernetes' servers (templates/kubernetes/unit.j2)."""
    for name, value in (yaml.safe_load(path.read_text()) or {}).items():
        for text in value.get("service", []) if isinstance(value, dict) else ():
            directive, _, reply = text.partition("=")
            yield f"{path.relative_to(ROOT)}: {name}", "Service", directive, reply


def everything() -> list[Line]:
    paths = sorted(
        p
        for place in PLACES
        for folder in ROOT.glob(place)
        for p in folder.rglob("*")
        if p.is_file() and p.suffix != ".pyc"
    )
    found = [line for p in paths for line in lines(p)]
    return found + [line for p in sorted(ROOT.glob("roles/*/vars/main.yml")) for line in of_kube_units(p)]


def wrong(line: Line, systemd: int) -> str:
    """Return what is wrong with a directive for a release of systemd; "" for nothing."""
    where, section, directive, value = line
    since = table().get(section, {}).get(directive)
    if since is None:
        return f"{where}: [{section}] {directive}= is not in systemd_directives.yml: look up since when systemd knows it"
    since = max(since, VALUES.get((section, directive), {}).get(value, 0))
    if directive.startswith("Exec") and re.match(r"[-@]*[+!:]", value):
        since = max(since, 231)
    return (
        f"{where}: [{section}] {directive}={value} is known from systemd {since} on"
        if since > systemd
        else ""
    )


def test_every_directive_of_every_unit_is_known_to_the_oldest_systemd() -> None:
    oldest = min(profile.load(name).systemd for name in profile.names())
    assert oldest == 229
    reply = everything()
    assert len(reply) > 200
    assert [w for line in reply if (w := wrong(line, oldest))] == []


def test_units_of_all_kinds_are_looked_at() -> None:
    seen = {where.partition(":")[0] for where, *_ in everything()}
    units = {
        str(p.relative_to(ROOT))
        for p in ROOT.glob("roles/*/templates/*")
        if re.search(r"\.(service|timer)\.j2$", p.name)
    }
    assert units <= seen
    for other in (
        "roles/ceph_rgw/vars/main.yml",
        "roles/kube_node/vars/main.yml",
        "templates/kubernetes/unit.j2",
    ):
        assert other in seen
    assert "plugins/module_utils/avadm_osd_maker.py" in seen


@pytest.mark.parametrize("name", profile.names())
def test_what_only_newer_systemds_know_is_in_their_profiles_alone(name: str) -> None:
    known = profile.load(name)
    for text in known.features.get("log_shipper_limits", []):
        directive, _, value = text.partition("=")
        assert not wrong((name, "Service", directive, value), known.systemd)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("x", "Unit", "StartLimitIntervalSec", "0"), "from systemd 230"),
        (("x", "Service", "CPUWeight", "20"), "from systemd 232"),
        (("x", "Service", "ProtectSystem", "strict"), "from systemd 232"),
        (("x", "Service", "ExecStartPre", "-+/bin/true"), "from systemd 231"),
        (("x", "Service", "Restrat", "always"), "look up since when"),
    ],
)
def test_what_229_does_not_know_is_reported(line: Line, says: str) -> None:
    assert says in wrong(line, 229)
    assert not wrong(("x", "Service", "ProtectSystem", "full"), 229)


def calls(text: str) -> Iterator[tuple[str, str]]:
    """Return program and option of each option that a line gives to one of systemd's programs."""
    found = list(CALL.finditer(text))
    ends = [*(after.start() for after in found[1:]), len(text)] if found else []
    for call, end in zip(found, ends, strict=True):
        rest = CALL_ENDS.split(text[call.end() : end])[0]
        yield from ((call[1], option) for option in OPTION.findall(rest))


def unknown(program: str, option: str, systemd: int) -> str:
    """Return what is wrong with an option for a release of systemd; "" for nothing."""
    since = table("systemd_options.yml")[program].get(option)
    if since is None:
        return f"{program} {option} is not in systemd_options.yml: look up since when systemd knows it"
    return f"{program} {option} is known from systemd {since} on" if since > systemd else ""


def test_every_option_of_systemds_programs_is_known_to_the_oldest_systemd() -> None:
    seen, wrongs = 0, []
    for place in ("roles", "plugins", "playbooks", "installer/avadm", "validation"):
        for path in sorted((ROOT / place).rglob("*")):
            if not path.is_file() or path.suffix == ".pyc":
                continue
            for number, text in enumerate(path.read_text(errors="replace").splitlines(), start=1):
                for program, option in calls(text):
                    seen += 1
                    if reply := unknown(program, option, 229):
                        wrongs.append(f"{path.relative_to(ROOT)}:{number}: {reply}")
    assert seen > 50
    assert wrongs == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            'must(["systemd-run", "--quiet", "--collect", "--unit", unit] + ["-x"])',
            ["--collect is known from systemd 236"],
        ),
        ("systemd-run --wait -q sleep 1", ["--wait is known from systemd 232"]),
        ("pid=$(systemctl show -p MainPID --value x) && ls -l", ["--value is known from systemd 230"]),
        ("`journalctl -u x --grep=y -e` and `ls -z`", ["--grep is known from systemd 237"]),
        ("systemctl --frobnicate; journalctl -u systemd-journald", ["look up since when"]),
        ("systemd-run --on-active=5 systemctl start -x.service", ["look up since when"]),
    ],
)
def test_options_that_229_does_not_know_are_reported(line: str, says: list[str]) -> None:
    messages = [w for call in calls(line) if (w := unknown(*call, 229))]
    assert [part in one for part, one in zip(says, messages, strict=True)] == [True] * len(says)
