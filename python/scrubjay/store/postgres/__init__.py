"""The store in PostgreSQL: rows, versions, events and images of one database, for processes on many machines.

Every key begins with `home`, the unit that a write locks: a tenant, or a bucket of its users. There are no
triggers, sequences or volatile defaults, and every statement on the path of a document names one home, so that a
server that shards by it (Citus) can route it.
"""
