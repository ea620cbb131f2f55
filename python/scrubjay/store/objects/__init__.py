"""Large images of a database as objects, in a folder or a bucket, with a local cache."""
