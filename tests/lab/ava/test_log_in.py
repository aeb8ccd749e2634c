"""Login by a directory and at an OpenID Connect provider, as a site sets them and the installer applies them.

Both are real programs on this machine, with certificates of an authority of the test's; the pods' way to them is opened by the
deployment alone.
"""

import json
import re
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import httpx
import ldap3
import pytest

from ava.client import Client
from tests.lab.ava.front_door import Person, refused
from tests.lab.ava.provider import Provider
from tests.lab.ava.settings import Settings, changed, here
from tests.lab.faults.drive import avadm, latest
from tests.lab.waiting import until
from tests.platform.slapd import BASE, WORD, Slapd

pytestmark = [pytest.mark.lab, pytest.mark.slow]
CALLBACK = "/api/v1/oidc/callback"
SECRET = "vault_ava_oidc_secret"


def test_a_site_file_whose_secret_is_not_in_the_vault_is_refused_before_anything_is_done(platform, lab):
    settings = Settings(lab)
    settings.keep()
    try:
        settings.write(
            oidc={"issuer": "https://id.example.org", "client_id": "ava", "networks": ["192.0.2.10/32"]}
        )
        done = avadm("apply", "ava")
    finally:
        settings.put_back()
    assert done.returncode != 0
    assert SECRET in done.stdout + done.stderr
    assert "ansible-vault edit" in done.stdout + done.stderr


@pytest.fixture(scope="module")
def door(platform, lab, authority, tmp_path_factory):
    """The platform with a directory and a provider, which both know some people; the administrator's client."""
    folder, address, tag = tmp_path_factory.mktemp("login"), here(lab), platform.admin
    names = SimpleNamespace(**{n: f"{n}-{tag}" for n in ("ann", "ben", "eve", "kim", "mia", "noor")})
    provider = Provider(folder, address, {names.mia: {}, names.noor: {"groups": ["staff"]}, names.kim: {}})
    provider.start()
    try:
        provider.register(f"https://{platform.host}{CALLBACK}")
        with Slapd(address=address, people=(names.ann, names.ben, names.eve, "stranger")) as directory:
            oidc = {
                "issuer": provider.issuer,
                "client_id": provider.client,
                "enough": {"claim": "groups", "values": ["staff"]},
                "networks": [f"{address}/32"],
                "ca": provider.ca.read_text(),
            }
            ldap = {
                "url": f"ldaps://{address}:{directory.tls}",
                "user_dn": f"uid={{name}},ou=people,{BASE}",
                "networks": [f"{address}/32"],
                "ca": directory.ca.read_text(),
            }
            ports = {"provider": (address, provider.port), "directory": (address, directory.tls)}
            with changed(lab, {SECRET: provider.secret}, oidc=oidc, ldap=ldap):
                until(lambda: ways(platform) == {True}, 60)
                assert platform.make_admin().returncode == 0
                admin = Client(f"https://{platform.host}", ca=authority)
                admin.login(platform.admin, platform.password)
                for name in (names.ann, names.ben, names.eve):
                    admin.make_user(name, f"{name}@example.org", platform.password)
                trusted = folder / "trusted.pem"
                trusted.write_text(authority.read_text() + provider.ca.read_text())

                def person(name):
                    return Person(platform, folder / name, trusted)

                yield SimpleNamespace(
                    provider=provider,
                    directory=directory,
                    names=names,
                    admin=admin,
                    person=person,
                    ports=ports,
                )
                for name in vars(names).values():
                    if any(u.name == name for u in admin.users()):
                        admin.change_user(name, state="disabled")
            until(lambda: ways(platform) == {False}, 60)
            assert set(reached(platform, "api", ports).values()) == {"closed"}, "the way stays open"
    finally:
        provider.stop()


def ways(platform):
    """Return what replicas say of the provider: they are asked in turn."""
    return {json.loads(platform.ask("/api/v1/login")[1])["oidc"] for _ in range(4)}


def reached(platform, part, ports):
    """Return which of these ports a pod of a part reaches: name to `open` or `closed`."""
    pods = platform.ctl(f"get pods --namespace=ava-system --selector=app=ava,part={part}")["items"]
    name = next(p["metadata"]["name"] for p in pods if "deletionTimestamp" not in p["metadata"])
    program = (
        "import socket\n"
        f"for name, door in {ports!r}.items():\n"
        "    s = socket.socket(); s.settimeout(3)\n"
        "    print(name, 'closed' if s.connect_ex(door) else 'open')\n"
    )
    line = f"kubectl exec -i -n ava-system {name} -- python3 - <<'END'\n{program}END"
    return dict(row.split() for row in platform.lab.sh(platform.master, line).splitlines())


def test_the_deployment_opens_the_way_for_the_interface_and_no_other_user(platform, door):
    assert reached(platform, "api", door.ports) == {"provider": "open", "directory": "open"}
    for part in ("operator", "scheduler"):
        assert set(reached(platform, part, door.ports).values()) == {"closed"}, part
    plain = {"plain": (door.directory.address, door.directory.plain)}
    assert reached(platform, "api", plain) == {"plain": "closed"}, "another port there"


def test_the_clients_secret_is_in_no_setting_no_argument_and_no_record(platform, lab, door):
    word = door.provider.secret
    maps = lab.sh(platform.master, "kubectl get configmaps,deployments,pods -n ava-system -o yaml")
    assert door.provider.client in maps, "the control: the settings are among them"
    assert word not in maps
    for node in lab.nodes:
        assert word not in lab.sh(node["name"], "ps axww -o args"), node["name"]
    folder = latest()
    assert (folder / "summary.json").exists()
    reports = [p for p in folder.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]
    assert reports == []
    assert word not in lab.sh(platform.master, "find /etc/kubernetes -name 'ava*' -perm -004 -exec cat {} +")


def test_a_person_of_the_directory_logs_in_by_form_and_by_command_line(door):
    ann = door.person("ann")
    answer = ann.form(door.names.ann, WORD, "/keys")
    assert (answer.status_code, answer.headers["location"]) == (303, "/keys"), answer.text
    assert ann.me() == door.names.ann
    done = ann.ava("login", "-u", door.names.ann, given=f"{WORD}\n")
    assert done.returncode == 0, done.stderr
    assert ann.ava("list").returncode == 0
    wrong = door.person("wrong").ava("login", "-u", door.names.ann, given="wrong\n")
    assert wrong.returncode == 2
    assert "Name and password do not belong together." in wrong.stderr


def test_who_is_locked_unknown_or_shut_out_does_not_get_in(platform, door):
    names, stranger = door.names, door.person("nobody")
    no = "Name and password do not belong together."
    for name, word in (
        (names.ann, "wrong"),
        (names.ann, ""),
        (names.ann, platform.password),  # the database's, which counts for administrators alone
        ("stranger", WORD),  # in the directory, without an account
    ):
        answer = stranger.form(name, word)
        refused(answer, answer.status_code)
        assert answer.status_code in (401, 422), (name, answer.status_code)
    lock = {"pwdAccountLockedTime": [(ldap3.MODIFY_ADD, ["000001010000Z"])]}
    door.directory.change(f"uid={names.eve},ou=people", lock)
    refused(stranger.form(names.eve, WORD), 401, no)
    door.admin.change_user(names.ben, state="disabled")
    refused(stranger.form(names.ben, WORD), 403, "This account may not log in.")
    # Only who has given the right word is informed of the account's state.
    refused(stranger.form(names.ben, "wrong"), 401, no)
    assert stranger.me() is None


def test_while_the_directory_is_away_or_another_no_one_of_it_gets_in_but_administrators_do(platform, door):
    ann, root = door.person("ann-later"), door.person("root")
    door.directory.stop()
    try:
        refused(ann.form(door.names.ann, WORD), 503, "The site's directory does not answer.")
        assert root.form(platform.admin, platform.password).status_code == 303
    finally:
        door.directory.start()
    with door.directory.strange():
        refused(ann.form(door.names.ann, WORD), 503, "The site's directory does not answer.")
    why = [line.detail["why"] for line in door.admin.audit(most=20) if line.outcome == "unreachable"]
    assert len(why) == 2
    assert why[0].endswith("its certificate does not prove that it is the service")
    assert ann.form(door.names.ann, WORD).status_code == 303, "as soon as it is back"


def test_a_newcomer_of_the_provider_waits_for_approval_and_then_comes_where_they_wanted(door):
    mia = door.person("mia")
    wait = mia.by_provider(f"s-{door.names.mia}", "/keys")
    refused(wait, 403, "This account may not log in yet.", "An administrator approves it.")
    assert mia.me() is None
    door.admin.approve(door.names.mia)
    url = mia.to_provider("/keys")
    asked = {k: v[0] for k, v in parse_qs(urlsplit(url).query).items()}
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert asked["redirect_uri"] == f"{mia.site}{CALLBACK}"
    assert all(len(asked[word]) >= 43 for word in ("state", "nonce", "code_challenge"))
    answer = mia.ask("GET", mia.at_provider(url, sub=f"s-{door.names.mia}"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/keys"), answer.text
    assert mia.me() == door.names.mia
    # The provider has seen the verifier, and the secret in the header alone.
    header, form = door.provider.app.exchanged[-1]
    assert header.startswith("Basic ")
    assert "client_secret" not in form
    door.admin.change_user(door.names.mia, state="disabled")
    assert mia.me() is None, "what was open ends"
    refused(mia.by_provider(f"s-{door.names.mia}"), 403, "This account may not log in.")


def test_a_claim_lets_in_at_once_and_the_command_line_by_a_token(door):
    noor = door.person("noor")
    assert noor.by_provider(f"s-{door.names.noor}").status_code == 303
    csrf = noor.ask("GET", "/api/v1/sessions/current", accept="application/json").json()["csrf"]
    made = noor.ask(
        "POST", "/api/v1/tokens", json={"label": "laptop"}, x_csrf_token=csrf, accept="application/json"
    )
    assert made.status_code == 201, made.text
    file = noor.folder / "token"
    file.touch(mode=0o600)
    file.write_text(made.json()["token"])
    done = noor.ava("--token-file", str(file), "list")
    assert done.returncode == 0, done.stderr
    # An account of the provider's has no password here that anybody knows.
    assert noor.ava("login", "-u", door.names.noor, given=f"{WORD}\n").returncode == 2


def test_an_answer_is_good_once_in_the_browser_that_began_and_for_its_own_login(door):
    noor, thief = door.person("noor-2"), door.person("thief")
    back = noor.at_provider(noor.to_provider(), sub=f"s-{door.names.noor}")
    no = "The answer belongs to no login that has begun here."
    refused(thief.ask("GET", back), 400, no)
    # A code of noor's in a login that the thief has begun: its challenge and its nonce are another's.
    own = parse_qs(urlsplit(thief.to_provider()).query)["state"][0]
    code = parse_qs(urlsplit(back).query)["code"][0]
    refused(thief.ask("GET", f"{CALLBACK}?code={code}&state={own}"), 401, "proves nothing")
    assert thief.me() is None
    kept = dict(noor.browser.jar[noor.platform.host])
    assert noor.ask("GET", back).status_code == 303
    noor.browser.jar[noor.platform.host].update(kept)
    refused(noor.ask("GET", back), 400, no, "an answer that was used before")


def test_a_refusal_at_the_provider_is_reported(door):
    kim = door.person("kim")
    url = kim.to_provider()
    back = kim.at_provider(url, action="deny")
    assert "error=access_denied" in back
    # The mock leaves out the state, which RFC 6749 (4.1.2.1) has it send.
    state = parse_qs(urlsplit(url).query)["state"][0]
    refused(kim.ask("GET", f"{back}&state={state}"), 401, "has not let you in", "access_denied")
    assert not any(user.name == door.names.kim for user in door.admin.users())


@pytest.mark.parametrize(
    "away", ["https://evil.example", "//evil.example", "/\\evil.example", "/api/v1/users"]
)
def test_a_login_leads_to_no_other_site(door, away):
    noor = door.person("noor-3")
    # Also where somebody makes the address of the button themselves.
    url = noor.away(noor.ask("GET", str(httpx.URL("/api/v1/oidc/login", params={"next": away}))))
    answer = noor.ask("GET", noor.at_provider(url, sub=f"s-{door.names.noor}"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert re.search(r'name="next" value="/"', noor_out(noor, away))


def noor_out(person, away):
    """Return the login page with a place to go to, of who is logged out."""
    person.browser.jar.clear()
    return person.ask("GET", str(httpx.URL("/login", params={"next": away}))).text


def test_while_the_provider_is_away_or_another_no_one_gets_in_by_it_and_then_at_once(platform, door):
    noor, root = door.person("noor-4"), door.person("root-2")
    no = "The site's login service does not answer."
    back = noor.at_provider(noor.to_provider(), sub=f"s-{door.names.noor}")
    with door.provider.away():
        refused(noor.ask("GET", back), 503, no)
        assert root.form(platform.admin, platform.password).status_code == 303
    back = noor.at_provider(noor.to_provider(), sub=f"s-{door.names.noor}")
    with door.provider.strange():
        refused(noor.ask("GET", back), 503, no)
    why = [line.detail["why"] for line in door.admin.audit(most=20) if line.object == "login service"]
    assert why[0].endswith("its certificate does not prove that it is the service")
    assert noor.by_provider(f"s-{door.names.noor}").status_code == 303
