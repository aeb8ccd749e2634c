"""Variables of the role ava for services of the site that the platform uses: login, directory, notices, the image registry."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from avadm.catalogue import finding
from avadm.components.ava.component import ISSUER, METRICS_CLIENT, REGISTRY_CLIENT, REGISTRY_TOKENS, host
from avadm.components.ava.options_services import Ldap, Service
from avadm.components.monitoring import variables as monitoring
from avadm.components.monitoring import variables_tls
from avadm.components.monitoring.component import SERVER
from avadm.components.registry.component import READERS, SPACE, USERS
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.inventory.model import RenderContext, Variables
from avadm.pki import foreign
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.site import placement as places
from avadm.site.model import Site

SECRET_BYTES = 32
CONFIG = "/etc/ava/config"
PORTS = {"http": 80, "https": 443, "ldap": 389, "ldaps": 636}


class _Outputs:
    """What is gathered: settings, files with secrets, authorities and openings."""

    def __init__(self) -> None:
        self.settings: dict[str, dict[str, Any]] = {"api": {}, "operator": {}}
        self.secrets: dict[str, dict[str, str]] = {"api": {}, "operator": {}}
        self.cas: dict[str, str] = {}
        self.openings: list[dict[str, Any]] = []

    def secret(self, part: str, name: str, variable: str) -> str:
        """Return the path of a file with a secret of the vault."""
        self.secrets[part][name] = f"{{{{ {variable} }}}}"
        return f"/etc/ava/services-{part}/{name}"

    def reach(self, part: str, name: str, service: Service, port: int) -> dict[str, str]:
        """Open the way to a service; return the setting of its authority."""
        self.openings.append({"part": part, "networks": [str(n) for n in service.networks], "port": port})
        if not service.ca:
            return {}
        self.cas[f"{name}-ca.crt"] = service.ca.rstrip() + "\n"
        return {"ca": f"{CONFIG}/{name}-ca.crt"}


def render(given: RenderContext, out: Variables) -> None:
    """Write them; nothing where the site has no platform."""
    knobs = given.site.components.ava
    if knobs is None:
        return
    report = _Outputs()
    if own := knobs.certificate:
        out.all |= {
            "ingress_own_certificate": own.chain.strip() + "\n",
            "ingress_own_key": f"{{{{ {own.key} }}}}",
        }
    if found := knobs.oidc:
        report.settings["api"]["oidc"] = {
            **found.model_dump(
                mode="json", include={"issuer", "client_id", "client_auth", "name_claim", "enough"}
            ),
            "address": f"https://{host(given.site)}",
            "secret_file": report.secret("api", "oidc", found.secret),
            **report.reach("api", "oidc", found, port_of(found.issuer)),
        }
    if ldap := knobs.ldap:
        ca = report.reach("api", "ldap", ldap, port_of(ldap.url))
        report.settings["api"]["ldap"] = {"url": ldap.url, **_entry(ldap, report), **ca}
    _registry(given, report)
    _prometheus(given, report)
    if notices := _notices(given.site, report, out):
        report.settings["operator"]["notices"] = notices
    out.all |= {
        "ava_service_settings": report.settings,
        "ava_service_secrets": report.secrets,
        "ava_service_ca_certificates": report.cas,
        "ava_service_openings": report.openings,
    }


def _entry(ldap: Ldap, outputs: _Outputs) -> dict[str, Any]:
    """Return the settings of how a user's entry is found in the directory."""
    if ldap.search is None:
        return {"user_dn": ldap.user_dn}
    search = ldap.search.model_dump(mode="json", include={"base", "filter", "bind_dn"})
    return {"search": {**search, "passfile": outputs.secret("api", "ldap", ldap.search.password)}}


def _registry(given: RenderContext, outputs: _Outputs) -> None:
    """Let the interface read in the site's own registry what an image runs by itself, and remove what is users' own."""
    servers = given.site.with_role("registry")
    if not servers:
        return
    outputs.cas["registry-ca.crt"] = given.store.trusted(Authority.KUBERNETES)
    outputs.cas["registry-client.crt"] = given.store.leaf(REGISTRY_CLIENT)
    outputs.secrets["api"]["registry-key"] = key_pem(key_variable(REGISTRY_CLIENT))
    networks = [f"{n.address}/32" for n in servers]
    outputs.openings += [{"part": "api", "networks": networks, "port": p} for p in (READERS, USERS, SPACE)]
    outputs.cas["registry-tokens.crt"] = given.store.leaf(REGISTRY_TOKENS)
    outputs.secrets["api"]["registry-tokens-key"] = key_pem(key_variable(REGISTRY_TOKENS))
    outputs.settings["api"]["user_registry"] = {
        "host": f"{places.registry_name(given.site)}:{USERS}",
        "pulled": f"{places.registry_name(given.site)}:{READERS}",
        "space": f"{places.registry_name(given.site)}:{SPACE}",
        "key": "/etc/ava/services-api/registry-tokens-key",
        "certificate": f"{CONFIG}/registry-tokens.crt",
        "issuer": ISSUER,
    }
    outputs.settings["api"]["registries"] = {
        f"{places.registry_name(given.site)}:{READERS}": {
            "ca": f"{CONFIG}/registry-ca.crt",
            "certificate": f"{CONFIG}/registry-client.crt",
            "key": "/etc/ava/services-api/registry-key",
        }
    }


def _prometheus(given: RenderContext, outputs: _Outputs) -> None:
    """Let the interface ask the site's own Prometheus servers what runs use; one of another site's it does not know."""
    if not places.metered(given.site):
        return
    servers = monitoring.datasources(given.site, given.profile)
    outputs.openings.append(
        {
            "part": "api",
            "networks": [f"{n.address}/32" for n in given.site.with_role("prometheus")],
            "port": SERVER,
        }
    )
    shown = {}
    if variables_tls.read_guarded(given.site, given.profile):
        outputs.cas["metrics-ca.crt"] = given.store.trusted(Authority.METRICS)
        outputs.cas["metrics-client.crt"] = given.store.leaf(METRICS_CLIENT)
        outputs.secrets["api"]["metrics-key"] = key_pem(key_variable(METRICS_CLIENT))
        shown = {
            "ca": f"{CONFIG}/metrics-ca.crt",
            "certificate": f"{CONFIG}/metrics-client.crt",
            "key": "/etc/ava/services-api/metrics-key",
        }
    outputs.settings["api"]["prometheus"] = [{**one, **shown} for one in servers]


def _notices(site: Site, outputs: _Outputs, out: Variables) -> dict[str, Any]:
    knobs, found = site.components.ava, {}
    if knobs is None or knobs.notices is None:
        return {}
    if hook := knobs.notices.webhook:
        out.secrets[hook.secret] = lambda: secrets.token_urlsafe(SECRET_BYTES)
        ca = outputs.reach("operator", "webhook", hook, port_of(hook.url))
        found["webhook"] = {
            "url": hook.url,
            "secret_file": outputs.secret("operator", "webhook", hook.secret),
            **ca,
        }
    if mail := knobs.notices.mail:
        reply = mail.model_dump(mode="json", include={"host", "port", "sender", "tls"})
        if mail.user:
            reply |= {"user": mail.user, "passfile": outputs.secret("operator", "mail", mail.password)}
        found["mail"] = {**reply, **outputs.reach("operator", "mail", mail, mail.port)}
    return found


def port_of(url: str) -> int:
    """Return the TCP port of an address."""
    parts = urlsplit(url)
    return parts.port or PORTS[parts.scheme]


def missing(site: Site, held: Mapping[str, str]) -> list[Finding]:
    """Return an error for each secret that others have given, and that the vault does not hold."""
    knobs = site.components.ava
    if knobs is None:
        return []
    wanted = [("oidc.secret", knobs.oidc.secret)] if knobs.oidc else []
    if knobs.certificate:
        wanted.append(("certificate.key", knobs.certificate.key))
    if knobs.ldap and knobs.ldap.search:
        wanted.append(("ldap.search.password", knobs.ldap.search.password))
    if knobs.notices and knobs.notices.mail and knobs.notices.mail.user:
        wanted.append(("notices.mail.password", knobs.notices.mail.password))
    return [
        finding(
            "ava-secret-missing",
            where=f"components.ava.{where}",
            found=f"no {variable}",
            wanted=f"a variable {variable} in the vault",
        )
        for where, variable in wanted
        if not held.get(variable)
    ]


def require(site: Site, held: Mapping[str, str]) -> None:
    """Raise AvadmError where one of these secrets is not in the vault, or is not what it should be."""
    if found := missing(site, held) or _wrong_key(site, held):
        raise AvadmError(found)


def _wrong_key(site: Site, held: Mapping[str, str]) -> list[Finding]:
    """Return an error where the vault's private key is not that of the site's own certificate; no word of the key is repeated."""
    own = site.components.ava.certificate if site.components.ava else None
    if own is None:
        return []
    try:
        right, found = (
            foreign.owns(foreign.read(own.chain)[0], held[own.key]),
            "the key of another certificate",
        )
    except ValueError:
        right, found = False, "no private key in PEM, or one with a password"
    if right:
        return []
    return [
        finding(
            "ava-certificate-key",
            where="components.ava.certificate.key",
            found=f"{own.key}: {found}",
            wanted="the private key of the first certificate of the chain, PEM without a password",
        )
    ]
