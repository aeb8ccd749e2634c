"""The web site for users and administrators: pages over the API's own functions, in English and Chinese."""
