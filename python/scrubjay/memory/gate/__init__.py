"""The gate: proposals are validated, judged, deduplicated and placed into their slots."""
