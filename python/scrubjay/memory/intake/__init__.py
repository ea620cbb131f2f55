"""What proposes to the gate by itself: distilled runs, folders of notes, consolidation of what is known."""
