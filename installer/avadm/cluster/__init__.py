"""A running site: how it is asked, what is set on it for a while, and which operations on it are half done."""
