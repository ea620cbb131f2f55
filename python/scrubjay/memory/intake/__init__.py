"""Sources of proposals: distilled runs, folders of notes, consolidation of known records."""
