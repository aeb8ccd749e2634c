"""Where each kind of object is found in the API."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote


class Kind(NamedTuple):
    """A kind of object.

    Attributes:
        version: ``v1`` or ``GROUP/VERSION``.
        name: as written in ``kind:``.
        plural: as written in paths.
        namespaced: whether its objects live in namespaces.
    """

    version: str
    name: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str | None = None, name: str | None = None, sub: str | None = None) -> str:
        """Return the path of the collection, of one object, or of a subresource of it.

        Raises ValueError for an empty name (which would mean the whole collection).
        """
        if name == "" or namespace == "":
            raise ValueError(f"empty name or namespace of a {self.name}")
        parts = ["api" if "/" not in self.version else "apis", self.version]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", quote(namespace, safe="")]
        elif self.namespaced and name is not None:
            raise ValueError(f"a {self.name} has a namespace")
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if sub is not None:
            parts.append(sub)
        return "/" + "/".join(parts)

    def head(self) -> dict[str, str]:
        """Return ``apiVersion`` and ``kind`` of an object."""
        return {"apiVersion": self.version, "kind": self.name}


PODS = Kind("v1", "Pod", "pods")
NODES = Kind("v1", "Node", "nodes", False)
NAMESPACES = Kind("v1", "Namespace", "namespaces", False)
SERVICES = Kind("v1", "Service", "services")
CONFIG_MAPS = Kind("v1", "ConfigMap", "configmaps")
SECRETS = Kind("v1", "Secret", "secrets")
CLAIMS = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
EVENTS = Kind("v1", "Event", "events")
NETWORK_POLICIES = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
ROLE_BINDINGS = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
INGRESSES = Kind("extensions/v1beta1", "Ingress", "ingresses")
DEFINITIONS = Kind(
    "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "customresourcedefinitions", False
)
