"""What becomes of records: edited, erased, swept; and whether the index still has them as they are."""
