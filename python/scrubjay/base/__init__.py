"""What everything else stands on: errors, locks, progress, whole files, optional libraries, HTTP. No documents yet."""
