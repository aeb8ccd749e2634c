"""The gate: the one way from browsers into workbenches; who comes is asked of the API at each request."""
