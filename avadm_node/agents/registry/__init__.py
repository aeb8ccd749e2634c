"""What users have in the image registry: counted where it lies, held within their space, tidied after a collection.

The registry's own interface shows neither what no tag names nor what is being sent, so its storage is read instead.
"""
