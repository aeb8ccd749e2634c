"""Components: one folder for each; catalog.py finds them."""
