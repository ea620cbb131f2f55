"""What decides what is remembered: proposals are checked, asked about, deduplicated, put into their slots."""
