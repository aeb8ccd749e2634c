"""avadm_derived and avadm_alternative: made or set where it is other, and only then."""

import avadm_alternative
import pytest
from avadm_derived import DerivedError, ensure

from tests.unit.fakes.running import run_command as run
from tests.unit.fakes.running import stub


def test_a_file_is_made_of_its_sources_and_again_where_one_or_the_program_changed(tmp_path):
    program, source, made = tmp_path / "make", tmp_path / "source", tmp_path / "made"
    stub(program, f"cp {source} {made}\necho x >> {tmp_path}/runs")

    def keep(dry=False):
        return ensure(run, str(made), [str(program)], [str(source)], dry)

    assert keep(dry=True), "an earlier task would make the source"
    with pytest.raises(DerivedError, match="source cannot be read"):
        keep()
    source.write_text("one")
    assert keep()
    assert not keep()
    for harm in (
        lambda: source.write_text("two"),
        lambda: made.write_text(""),
        made.unlink,
        lambda: program.write_text(program.read_text() + "# newer\n"),
    ):
        harm()
        assert keep(dry=True)
        assert keep()
        assert not keep()
    assert made.read_text() == "two"
    assert len((tmp_path / "runs").read_text().split()) == 5


def test_a_program_that_fails_makes_nothing_right(tmp_path):
    (tmp_path / "source").write_text("")
    for _ in range(2):
        with pytest.raises(DerivedError):
            ensure(run, str(tmp_path / "made"), ["/bin/false"], [str(tmp_path / "source")])


@pytest.mark.parametrize(
    ("value", "status", "changed"), [("/l", "manual", False), ("/n", "manual", True), ("/l", "auto", True)]
)
def test_an_alternative_is_set_where_it_is_other_or_no_choice_of_ours(value, status, changed):
    calls = []

    def answer(argv):
        calls.append(argv[1])
        return 0, f"Name: iptables\nStatus: {status}\nValue: {value}\n\nAlternative: /n\nValue: /n\n", ""

    assert avadm_alternative.ensure(answer, "iptables", "/l", dry=True) == (changed, value)
    assert avadm_alternative.ensure(answer, "iptables", "/l") == (changed, value)
    assert calls == ["--query", "--query"] + ["--set"] * changed


def test_an_alternative_that_is_not_there_is_refused_with_its_words():
    reply = 2, "", "error: no alternatives for iptables"
    with pytest.raises(avadm_alternative.AlternativeError, match="no alternatives"):
        avadm_alternative.ensure(lambda argv: reply, "iptables", "/l")
