"""What memory is about, without a file: records and candidates, when texts say the same, the projection of a slot."""
