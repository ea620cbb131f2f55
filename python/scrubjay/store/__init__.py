"""The durable rows of an index, and the partitions that are in memory.

`protocol` says what a store is: rows, the truth. `sqlite` keeps them in one file: `schema` its tables, `connections`
how it is opened and what its errors mean, `reading` the questions, `transaction` the changes, `vectors` the bytes of a
vector, `files` backups and searching the files for erased bytes. `encryption` is what sealed bytes and keys are,
`sealing` what a sealed row is, `opening` what every store opens with, `cipher` what a file seals with, `rekeying` how a
tenant becomes encrypted and how keys change, `user_keys` what is one user's. `residency` decides which partitions
(`partition`) are in the native engine and keeps them in step with the rows. `writing` brings a write into both,
`engine` puts both behind the surface of one engine; `check` compares them; `reembedding` changes the model.
"""
