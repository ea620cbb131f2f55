"""The store in PostgreSQL: rows, versions, events and images of one database, for processes on many machines.

Every key begins with `home`, the unit that a write locks: a tenant. No trigger, sequence or volatile default, and every
statement on the way of a document names one home, so that a server that shards by it (Citus) can route it.
"""
