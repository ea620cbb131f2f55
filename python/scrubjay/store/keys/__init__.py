"""Encryption: data keys and master keys, sealed rows and images, digests of scopes."""
