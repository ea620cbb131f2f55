"""The lifetime matrix: every public method while an object or its process ends, or the process forks.

`api.py` lists the public classes and their members, `arguments.py` creates objects and arguments, `situations.py`
has the situations, `server.py` runs each case in its own process, and `test_matrix.py` asserts. A new public method is
included automatically; if its arguments are unknown, `test_every_member_can_be_called` says where to add them.
"""
