"""One virtual machine with a kernel of its own, for what container nodes cannot show (evidence/fidelity.md)."""
