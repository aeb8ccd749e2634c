"""The site file: model, loading, rules, secrets, rendering."""
