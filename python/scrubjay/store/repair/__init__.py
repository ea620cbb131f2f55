"""Reading damaged files, and rebuilding sound ones from them."""
