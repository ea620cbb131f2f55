"""What answers: recall, look-ups, rules by key, provenance, the feed of changes, prompts made of them."""
