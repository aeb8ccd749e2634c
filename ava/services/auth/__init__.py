"""Authentication and permissions: sessions, tokens, passwords, OpenID Connect, LDAP, rate limits."""
