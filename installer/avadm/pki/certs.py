"""Keys and certificates: making, reading and judging them, with `cryptography`.

Keys are of the curve P-256, which every TLS library of the last ten years knows. A key is kept as one line, the base64
of its SEC 1 form: what hides secrets in logs works line by line.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from avadm.pki.model import Leaf

AUTHORITY_DAYS = 3650
# A node's clock may be behind the controller's.
BACKDATED = timedelta(hours=1)
_HEAD, _TAIL = "-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"
_CA_USE = {"digital_signature", "key_cert_sign", "crl_sign"}
_LEAF_USE = {"digital_signature"}
_USES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


def now() -> datetime:
    """Return the time, to the second as certificates tell it."""
    return datetime.now(UTC).replace(microsecond=0)


def new_key() -> str:
    """Return a new private key as the vault keeps it."""
    key = ec.generate_private_key(ec.SECP256R1())
    der = key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return base64.b64encode(der).decode()


def key_pem(variable: str) -> str:
    """Return the PEM text of a key as an Ansible expression; ``variable`` is the vault's."""
    return pem_of(f"{{{{ {variable} }}}}")


def pem_of(kept: str) -> str:
    """Return the PEM text of a kept key."""
    # One line of 164 characters: OpenSSL takes lines below 255, Go's library any.
    return f"{_HEAD}\n{kept}\n{_TAIL}\n"


def key_data(variable: str) -> str:
    """Return the PEM text of a key in base64 as an Ansible expression; ``variable`` is the vault's."""
    # Ansible doubles backslashes in expressions: a line's end is the character 10.
    return f"{{{{ '%s%c%s%c%s%c' | format('{_HEAD}', 10, {variable}, 10, '{_TAIL}', 10) | b64encode }}}}"


def public_pem(kept: str) -> str:
    """Return the PEM text of the public half of a kept key."""
    spki = PublicFormat.SubjectPublicKeyInfo
    return _load(kept).public_key().public_bytes(Encoding.PEM, spki).decode()


def authority(name: str, kept: str, at: datetime) -> str:
    """Return an authority's own certificate, PEM.

    Made again from the same name and key, it vouches for all that the former one did.
    """
    key = _load(kept)
    subject = _subject(name)
    return _signed(
        _builder(subject, subject, key.public_key(), at, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(_CA_USE), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False),
        key,
    )


def leaf(wanted: Leaf, kept: str, by: str, by_kept: str, at: datetime, days: int) -> str:
    """Return a certificate, PEM.

    Args:
        wanted: what it says.
        kept: its private key.
        by: the authority's certificate, PEM.
        by_kept: the authority's private key.
        at: from when it holds.
        days: for how long.
    """
    issuer, signer = x509.load_pem_x509_certificate(by.encode()), _load(by_kept)
    public = _load(kept).public_key()
    built = (
        _builder(_subject(wanted.user, wanted.group), issuer.subject, public, at, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(_LEAF_USE), critical=True)
        .add_extension(_extended(wanted), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    if alternatives := _alternatives(wanted):
        built = built.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return _signed(built, signer)


def due_for_renewal(pem: str, at: datetime) -> bool:
    """Whether less than a third of a certificate's life is left."""
    made = x509.load_pem_x509_certificate(pem.encode())
    end = made.not_valid_after_utc
    return end - at < (end - made.not_valid_before_utc) / 3


def certifies(pem: str, kept: str) -> bool:
    """Whether this is a certificate at all, and of this private key."""
    try:
        made = x509.load_pem_x509_certificate(pem.encode())
    except ValueError:
        return False
    return bool(made.public_key() == _load(kept).public_key())


def says(pem: str, wanted: Leaf, by_kept: str) -> bool:
    """Whether a certificate says what is wanted, signed by the authority with this key."""
    made = x509.load_pem_x509_certificate(pem.encode())
    try:
        issuer = made.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
        uses = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    try:
        names = list(made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        names = []
    return (
        made.subject == _subject(wanted.user, wanted.group)
        and issuer == x509.AuthorityKeyIdentifier.from_issuer_public_key(_load(by_kept).public_key())
        and uses == _extended(wanted)
        and names == _alternatives(wanted)
    )


def _load(kept: str) -> ec.EllipticCurvePrivateKey:
    key = load_der_private_key(base64.b64decode(kept), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("no key of an elliptic curve")
    return key


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, at: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - BACKDATED)
        .not_valid_after(at + timedelta(days=days))
    )


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> str:
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def _subject(user: str, group: str = "") -> x509.Name:
    parts = ((NameOID.ORGANIZATION_NAME, group), (NameOID.COMMON_NAME, user))
    return x509.Name([x509.NameAttribute(kind, text) for kind, text in parts if text])


def _usage(uses: set[str]) -> x509.KeyUsage:
    return x509.KeyUsage(**{use: use in uses for use in _USES})


def _extended(wanted: Leaf) -> x509.ExtendedKeyUsage:
    server = [ExtendedKeyUsageOID.SERVER_AUTH] if wanted.server else []
    return x509.ExtendedKeyUsage([*server, *([ExtendedKeyUsageOID.CLIENT_AUTH] if wanted.client else [])])


def _alternatives(wanted: Leaf) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in wanted.names]
    return [*names, *(x509.IPAddress(ip_address(address)) for address in wanted.addresses)]
