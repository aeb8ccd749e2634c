"""Certificates that another authority has signed: what they say, and whether a private key is theirs."""

from __future__ import annotations

from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key


def read(pem: str) -> list[x509.Certificate]:
    """Return the certificates of a PEM text, the first one first; ValueError where it holds none or a broken one."""
    return x509.load_pem_x509_certificates(pem.encode())


def names(certificate: x509.Certificate) -> list[str]:
    """Return the DNS names that a certificate is for; the common name does not count (RFC 9110, section 4.3.4)."""
    try:
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return held.get_values_for_type(x509.DNSName)


def is_for(certificate: x509.Certificate, host: str) -> bool:
    """Return whether a certificate is for a host name; a star stands for one label."""
    below = host.partition(".")[2]
    return any(name.lower() in (host, f"*.{below}") for name in names(certificate))


def ends(certificate: x509.Certificate) -> datetime:
    """Return when a certificate ends, UTC."""
    return certificate.not_valid_after_utc


def owns(certificate: x509.Certificate, key: str) -> bool:
    """Return whether a private key (PEM) is the certificate's; ValueError where the text holds no key without a password."""
    try:
        public = load_pem_private_key(key.encode(), password=None).public_key()
    except TypeError as error:  # it is encrypted
        raise ValueError("the key has a password") from error
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return public.public_bytes(*form) == certificate.public_key().public_bytes(*form)
