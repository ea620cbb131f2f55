"""The lifetime matrix: every public method where an object's life, or its process's, ends or forks.

`api.py` finds what is public, `arguments.py` makes the objects and the arguments, `situations.py` has the six
situations, `server.py` runs each case in a process of its own, `test_matrix.py` asserts. A new public method enters by
itself; if its arguments cannot be made, `test_every_member_can_be_called` says where to add them.
"""
