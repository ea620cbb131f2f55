"""What a store keeps of a document, whatever kind of store it is: types, encodings, rules of scopes, order of
listings.
"""
