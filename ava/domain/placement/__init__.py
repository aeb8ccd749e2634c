"""Where pods go, decided without input or output: feasibility → fit → rank → plan."""
