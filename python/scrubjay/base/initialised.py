"""A clear error for objects whose constructor was not called.

`T.__new__(T)` (unpicklers, mocks, dependency injection) creates an object without attributes. Any access then raises
TypeError with the name of the type, as the native types do, rather than an AttributeError about a private attribute.
Initialised objects are not affected.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Unusable", "guard_exports", "guarded", "unset"]

T = TypeVar("T")


def guard_exports(module: str) -> None:
    """Guard every class that the module exports (:func:`guarded`). Call it at the end of the module.

    Exempt are errors, protocols, native types, and classes with their own `__new__`, which uses :func:`unset`.
    """
    exported = vars(sys.modules[module])
    for name in exported["__all__"]:
        cls = exported.get(name)
        if (
            inspect.isclass(cls)
            and cls.__module__.startswith("scrubjay.")
            and not cls.__module__.endswith("._native")
            and not issubclass(cls, (BaseException, tuple))
            and not getattr(cls, "_is_protocol", False)
            and not hasattr(cls, "__getattr__")
            and all(vars(base).get("__new__") is None for base in cls.__mro__[:-1])
        ):
            guarded(cls)


def guarded(cls: type[T]) -> type[T]:
    """Class decorator: raise the TypeError for missing attributes of uninitialised objects."""
    setattr(cls, "__getattr__", _missing)  # noqa: B010 - mypy does not know the attribute
    return cls


class Unusable:
    """A placeholder for a missing part of an object. Any use of it raises the given error.

    A class whose attributes are read in every search assigns this to them in `__new__`: a `__getattr__` of the class
    would slow down each access.
    """

    def __init__(self, error: Exception) -> None:
        object.__setattr__(self, "_error", error)

    def _raise(self, *_: Any) -> Any:
        error: Exception = object.__getattribute__(self, "_error")
        raise type(error)(*error.args)

    __getattr__ = __setattr__ = __len__ = __contains__ = __iter__ = __call__ = _raise


def unset(cls: type) -> Unusable:
    """Return the placeholder for an attribute before the constructor sets it."""
    return Unusable(_uninitialised(cls))


def _missing(self: Any, name: str) -> Any:
    if name.startswith("__") or _is_initialised(self):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
    raise _uninitialised(type(self))


def _is_initialised(instance: Any) -> bool:
    if getattr(instance, "__dict__", None):
        return True
    for cls in type(instance).__mro__:
        for slot in vars(cls).get("__slots__", ()):
            try:
                vars(cls)[slot].__get__(instance)
            except (AttributeError, KeyError):  # not set
                continue
            if slot != "__weakref__" and slot != "__dict__":
                return True
    # A class whose constructor sets no attributes is always initialised.
    return not any(
        "__slots__" in vars(cls) and vars(cls)["__slots__"] for cls in type(instance).__mro__
    ) and (_sets_nothing(type(instance)))


def _sets_nothing(cls: type) -> bool:
    make: Callable[..., Any] = cls.__init__  # type: ignore[misc]
    return make is object.__init__


def _uninitialised(cls: type) -> TypeError:
    return TypeError(f"{cls.__name__}: __init__() was not called on this object")
