"""The site's certificates: how they are made (certs.py) and where they are kept (store.py).

Private keys are secrets of the site's vault. Certificates are public and lie in `SITE.pki.json` beside the site file, so
that renewing one changes the inputs of the nodes that hold it and of no other.
"""
