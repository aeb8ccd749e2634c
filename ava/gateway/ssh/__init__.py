"""The ssh gateway: what OpenSSH there asks of the API."""
