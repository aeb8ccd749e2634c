"""Images that users push: the registry's client, its tokens, and the rules of repositories and deletions."""
