"""The durable rows of an index, and the partitions that are in memory.

`seam` is the protocol of a store; `open` chooses one. `sqlite` keeps the rows in one file, `postgres` in a
database that processes on several machines share; `rows` has the types, encodings and rules that both use, `keys`
the encryption, `objects` the object store of frozen scopes. `residency` decides which partitions are in the
native engine and keeps them equal to the rows. `writing` applies a write to both, `together` a batch of writes;
`engine` presents rows and partitions as one engine, and `local` does so without rows. `check` compares the two,
`repair` reads damaged files, `copying` and `jsonl` move collections, `care` changes models and keys.
"""
