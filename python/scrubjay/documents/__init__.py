"""Documents as values: records, metadata and times, passages, entities, turns, tables; neither searched nor stored."""
