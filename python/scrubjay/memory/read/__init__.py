"""Reading: recall, look-ups, rules by key, provenance, the change feed, and prompts made of them."""
