"""What requests and answers hold. Pydantic alone, so that the client and the command line use them too."""
