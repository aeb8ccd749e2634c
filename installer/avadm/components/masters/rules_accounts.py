"""Rules over the accounts of Kubernetes: each is somebody else, tenants have namespaces, no one gets avadm's own."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.findings import Finding
from avadm.quantity import quantity
from avadm.site.components import Account
from avadm.site.draft import Draft
from avadm.site.source import KeyPath

ACCOUNTS: KeyPath = ("components", "kubernetes", "accounts")
FORMER_USERS = frozenset(["volumes"])
OWN_USERS = frozenset(
    [
        "calico",
        "calico-kube-controllers",
        "coredns",
        "ingress",
        "kubernetes-admin",
        "load-balancer",
        "pod-targets",
        "prometheus",
        "registry",
        *FORMER_USERS,
    ]
)
"""Users that are parts of the cluster: a user of such a name has the part's rights. None begins with kube-.

Former ones are in certificates of before, which are good until they run out: an account of that name would be theirs too.
"""


def names(draft: Draft) -> Iterator[Finding]:
    """Names are unique, and no part of the cluster has them."""
    seen = [((*path, "name"), account.name, None) for path, account in _accounts(draft, "name")]
    yield from draft.twice("account-twice", seen)
    for path, account in _accounts(draft, "name"):
        if account.name in OWN_USERS or account.name.startswith("kube-"):
            yield draft.finding(
                "account-reserved",
                (*path, "name"),
                account.name,
                f"no name that begins with kube-, none of {', '.join(sorted(OWN_USERS))}",
            )


def namespaces(draft: Draft) -> Iterator[Finding]:
    """Tenants have namespaces of users', the other roles work in all of them."""
    for path, account in _accounts(draft, "role", "namespaces"):
        if account.role == "tenant" and not account.namespaces:
            yield draft.finding(
                "account-namespaces", path, "no namespaces", "at least one namespace", name=account.name
            )
        elif account.role != "tenant" and account.namespaces:
            yield draft.finding(
                "account-namespaces-role",
                (*path, "namespaces"),
                ", ".join(account.namespaces),
                "no namespaces, or the role tenant",
                role=account.role,
            )
        seen = [((*path, "namespaces", i), n, None) for i, n in enumerate(account.namespaces)]
        yield from draft.twice("account-namespace-twice", seen)
        for i, name in enumerate(account.namespaces):
            # Who writes in `default` can replace the Service `kubernetes`, by which pods know the API. AVA believes what is
            # in its own namespaces.
            if name == "default" or name.startswith(("kube-", "ava-")):
                yield draft.finding(
                    "account-namespace",
                    (*path, "namespaces", i),
                    name,
                    "a namespace that is not default and does not begin with kube- or ava-",
                )


def used(draft: Draft) -> Iterator[Finding]:
    """Accounts are for a cluster that there is."""
    accounts = draft.site.components.kubernetes.accounts
    if accounts and draft.ok(*ACCOUNTS) and draft.whole("roles") and not draft.has("master"):
        yield draft.finding(
            "accounts-unused",
            ACCOUNTS,
            quantity(len(accounts), "account"),
            "1, 3 or 5 master, or no accounts",
        )


def _accounts(draft: Draft, *keys: str) -> Iterator[tuple[KeyPath, Account]]:
    """Return key path and account for each whose keys are right."""
    for i, account in enumerate(draft.site.components.kubernetes.accounts):
        if all(draft.ok(*ACCOUNTS, i, key) for key in keys):
            yield (*ACCOUNTS, i), account


RULES = [names, namespaces, used]
