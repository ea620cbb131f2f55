"""What all kinds of stores share: types, encodings, rules of scopes, order of listings."""
