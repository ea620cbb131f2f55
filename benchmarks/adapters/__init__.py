"""Scrubjay behind the interfaces of other projects, compared with their own stores."""
