"""The images that a site offers: what there is (catalogue.yml), and how those are made that avadm builds (a folder each)."""
