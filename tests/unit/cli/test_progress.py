import io

import pytest
from rich.console import Console

from avadm.cli.progress import LiveDisplay, Model, Plain, Quiet, display, duration, first_line
from avadm.remote.events import Event, Kind
from tests.unit.cost import calls, growth

PHASES = {"base": ("a", "b", "c"), "ceph": ("a", "b")}
GROUPS = {"a": "mon", "b": "osd", "c": "osd"}


def ev(t, kind, phase="base", **more):
    return Event(t, phase, kind, **more)


RECORDED = [
    ev(100, Kind.PHASE_START, hosts=("a", "b", "c")),
    ev(100, Kind.TASK_START, task="base : Install"),
    *(ev(100, Kind.HOST_START, host=h, task="base : Install") for h in "abc"),
    ev(102, Kind.CHANGED, host="a", task="base : Install", seconds=2.0),
    ev(103, Kind.UNREACHABLE, host="b", task="base : Install", message="No route to host\nmore"),
]


def model(events):
    out = Model(PHASES, GROUPS)
    for event in events:
        out.add(event)
    return out


def lines(events, *, now=110.0, **more):
    console = Console(file=io.StringIO(), width=100, force_terminal=True, **more)
    live = LiveDisplay(model(events), console, clock=lambda: now)
    with console.capture() as captured:
        console.print(live.render())
    return captured.get()


def plain(events):
    console = Console(file=io.StringIO(), width=200)
    shown = Plain(Model(PHASES, GROUPS), console)
    with shown:
        for event in events:
            shown(event)
    return [line[9:] for line in console.file.getvalue().splitlines()]


def test_the_model_knows_who_is_through_and_who_is_waited_for():
    view = model(RECORDED).phases["base"]
    assert view.finished == {"a", "b"}
    assert view.waited_for(110.0) == [("c", 10.0)]
    assert view.bad == {"b": "No route to host"}
    assert view.changed == 1


def test_a_new_task_starts_with_no_one_waited_for():
    view = model([*RECORDED, ev(111, Kind.TASK_START, task="next")]).phases["base"]
    assert (view.working, view.finished, view.task) == ({}, set(), "next")


def test_the_live_lines_tell_phase_task_hosts_and_the_group_waited_for():
    report = lines(RECORDED, color_system=None).splitlines()
    wanted = [("base : Install", "2/3", "in trouble: b"), ("osd", "waiting for c", "10 s"), ("ceph",)]
    assert len(report) == len(wanted)
    assert [w for line, words in zip(report, wanted, strict=True) for w in words if w not in line] == []


def test_events_may_come_in_while_the_lines_are_drawn():
    known = model(RECORDED)

    class Meanwhile(float):
        """A time that, when read, lets another thread's events in."""

        def __rsub__(self, other):
            host = f"new{len(known.phases)}"
            known.add(ev(100, Kind.HOST_START, host=host))
            known.add(ev(100, Kind.PHASE_START, host, hosts=("a",)))
            return other - float(self)

    known.phases["base"].working["c"] = Meanwhile(100)
    live = LiveDisplay(known, Console(file=io.StringIO()), clock=lambda: 110.0)
    live.render()
    assert len(known.phases) > len(PHASES)


def test_a_short_wait_names_no_one():
    assert "waiting for" not in lines(RECORDED, now=101.0)


def test_an_ended_phase_tells_its_result_and_time():
    text = lines([*RECORDED, ev(140, Kind.PHASE_END, message="done", seconds=65.0)])
    assert "done, 1 changed" in text
    assert "1 min 05 s" in text


def test_plain_lines_tell_starts_failures_and_ends_but_not_every_task():
    events = [*RECORDED]
    events += [ev(103.5 + i / 10, Kind.TASK_START, task=f"t{i}") for i in range(10)]
    events += [
        ev(110, Kind.TASK_START, task="later"),
        ev(112, Kind.PHASE_END, message="done", seconds=12.0),
        ev(112, Kind.WAITING, "ceph", message="waiting on base"),
    ]
    assert plain(events) == [
        "base        started on 3 nodes",
        "base        UNREACHABLE b: base : Install: No route to host",
        "base        later",
        "base        done after 12 s, 1 changed; in trouble: b",
        "ceph        not started: waiting on base",
    ]


def test_plain_lines_tell_a_long_wait_when_anything_happens():
    text = plain([*RECORDED, ev(140, Kind.RETRY, host="c", task="base : Install")])
    assert text[-1] == "base        base : Install: waiting for c, 40 s"


def test_the_display_fits_the_console():
    pipe = Console(file=io.StringIO())
    terminal = Console(file=io.StringIO(), force_terminal=True)
    assert type(display(Model({}), pipe)) is Plain
    assert type(display(Model({}), terminal)) is LiveDisplay
    assert type(display(Model({}), terminal, quiet=True)) is Quiet


def test_no_color_leaves_no_colour_codes(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in lines(RECORDED)


def test_an_event_costs_the_display_little():
    # 256 hosts x 400 tasks are 200,000 events: at 50 us each they cost 10 s of a core, so none may look at all hosts.
    def shown(hosts):
        display = Quiet(Model({"base": [f"n{i}" for i in range(hosts)]}))
        events = [
            ev(i, kind, host=f"n{i % hosts}") for i in range(1000) for kind in (Kind.HOST_START, Kind.OK)
        ]
        return lambda: [display(event) for event in events]

    assert calls(shown(256)) < 20 * 2000
    assert growth(shown(8), shown(256)) < 2


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (65, "1 min 05 s"), (3780, "1 h 03 min")]
)
def test_durations_are_for_people(seconds, text):
    assert duration(seconds) == text


def test_the_first_line_that_says_something():
    assert first_line("\n  \n word \nmore") == "word"
    assert len(first_line("x" * 500)) == 160
