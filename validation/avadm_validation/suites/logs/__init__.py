"""The logs suite (A-LOG-*): every node's lines arrive in every store, and none is lost with one store down (I8)."""
