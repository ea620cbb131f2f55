// HitView: the data of a hit that callers read, without a Python frame or pybind11's dispatcher.
//
// Reading ten hits through Python properties took as long as the search. A view is a position in a Result.
// Its id and score are made with it and stored in slots, which the interpreter reads without a call; the
// location of its text is stored, too, and the text, which may be long, is made when it is read. The views of
// a whole result are made in one pass. `scrubjay.Hit` derives from HitView and adds the rest.
#include <structmember.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/epoch.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "instances.hpp"
#include "result.hpp"

namespace py = pybind11;

namespace scrubjay::bindings {
namespace {

using engine::Hit;

struct HitView {
  PyObject_HEAD PyObject* hits;  // the scrubjay.Hits it belongs to
  PyObject* result;              // a Result; null before __init__
  PyObject* payload;             // decoded by Python, or null
  PyObject* id;                  // null while result is null
  PyObject* score;               // likewise
  const char* text;              // of a native result, whose chunks own it
  size_t text_size;
  Py_ssize_t position;
};

PyTypeObject* view_type = nullptr;

HitView* as_view(PyObject* object) noexcept { return reinterpret_cast<HitView*>(object); }

PyObject* raise_uninitialised(PyObject* self) {
  return PyErr_Format(PyExc_TypeError, "%s: __init__() was not called on this object",
                      Py_TYPE(self)->tp_name);
}

// A pickled result is a Python object with methods of the same names.
PyObject* get_text(PyObject* self, void*) {
  const HitView* view = as_view(self);
  if (!view->result) return raise_uninitialised(self);
  if (!view->text) return PyObject_CallMethod(view->result, "text", "n", view->position);
  return new_text({view->text, view->text_size});
}
PyObject* get_hits(PyObject* self, void*) {
  if (!as_view(self)->hits) return raise_uninitialised(self);
  return Py_NewRef(as_view(self)->hits);
}
PyObject* get_result(PyObject* self, void*) {
  if (!as_view(self)->result) return raise_uninitialised(self);
  return Py_NewRef(as_view(self)->result);
}
PyObject* get_position(PyObject* self, void*) {
  if (!as_view(self)->result) return raise_uninitialised(self);
  return PyLong_FromSsize_t(as_view(self)->position);
}
PyGetSetDef accessors[] = {{"text", get_text, nullptr, "The text as it was written.", nullptr},
                           {"_hits", get_hits, nullptr, nullptr, nullptr},
                           {"_result", get_result, nullptr, nullptr, nullptr},
                           {"_position", get_position, nullptr, nullptr, nullptr},
                           {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"_payload", T_OBJECT, offsetof(HitView, payload), 0, nullptr},
                         {"id", T_OBJECT_EX, offsetof(HitView, id), READONLY, "The caller's id."},
                         {"score", T_OBJECT_EX, offsetof(HitView, score), READONLY,
                          "The score by which it ranks; see Hits.scores for its meaning."},
                         {nullptr, 0, 0, 0, nullptr}};

// Makes a view refer to hit `position`, which must exist. `native`: the C++ object of `result`, or null
// for a pickled result; if not null, call under an epoch guard. Returns false with an error set and
// the view unchanged.
bool place(HitView* view, PyObject* hits, PyObject* result, const Result* native, Py_ssize_t position) {
  PyObject *id = nullptr, *score = nullptr;
  std::string_view text;
  if (native) {
    const Hit& hit = native->found.hits[static_cast<size_t>(position)];
    const engine::Chunk& chunk = native->found.chunk_of(hit);
    id = new_id(chunk.id(hit.offset));
    score = PyFloat_FromDouble(hit.score);
    text = chunk.text(hit.offset);
  } else {
    id = PyObject_CallMethod(result, "id", "n", position);
    score = id ? PyObject_CallMethod(result, "score", "n", position) : nullptr;
  }
  if (!id || !score) {
    Py_XDECREF(id);
    Py_XDECREF(score);
    return false;
  }
  view->position = position;
  view->text = text.data();
  view->text_size = text.size();
  Py_XSETREF(view->id, id);
  Py_XSETREF(view->score, score);
  Py_XSETREF(view->hits, Py_NewRef(hits));
  Py_XSETREF(view->result, Py_NewRef(result));
  return true;
}

// Number of hits of a native or pickled result; -1 with an error set.
Py_ssize_t size_of(PyObject* result) {
  if (const Result* native = Instances<Result>::behind(result))
    return static_cast<Py_ssize_t>(native->found.hits.size());
  if (PyObject_HasAttrString(result, "matched_terms")) return PyObject_Size(result);
  PyErr_Format(PyExc_TypeError, "result: expected a Result, got %s", Py_TYPE(result)->tp_name);
  return -1;
}

int init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject *hits, *result;
  Py_ssize_t position;
  if (keywords && PyDict_GET_SIZE(keywords) != 0) {
    PyErr_SetString(PyExc_TypeError, "HitView: expected no keyword arguments");
    return -1;
  }
  if (!PyArg_ParseTuple(arguments, "OOn:HitView", &hits, &result, &position)) return -1;
  const Py_ssize_t n_hits = size_of(result);
  if (n_hits < 0) return -1;
  if (position < 0 || position >= n_hits) {
    PyErr_Format(PyExc_IndexError, "position: expected 0 to %zd, got %zd", n_hits - 1, position);
    return -1;
  }
  const Result* native = Instances<Result>::behind(result);
  std::optional<base::EpochGuard> guard;
  if (native) guard.emplace();
  return place(as_view(self), hits, result, native, position) ? 0 : -1;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_view(self)->hits);
  Py_VISIT(as_view(self)->result);
  Py_VISIT(as_view(self)->payload);
  Py_VISIT(Py_TYPE(self));
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(as_view(self)->hits);
  Py_CLEAR(as_view(self)->result);
  Py_CLEAR(as_view(self)->payload);
  Py_CLEAR(as_view(self)->id);
  Py_CLEAR(as_view(self)->score);
  as_view(self)->text = nullptr;  // it belonged to the result
  return 0;
}
void dispose(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// Documents are scattered in memory: prefetches the data of the hits after hit `i`. Call under
// an epoch guard.
void announce(const engine::SearchResult& result, size_t i) noexcept {
  constexpr size_t kRecords = 16, kBytes = 8;  // hits ahead
  if (i + kRecords < result.hits.size()) {
    const Hit& hit = result.hits[i + kRecords];
    result.chunk_of(hit).prefetch(hit.offset);
  }
  if (i + kBytes < result.hits.size()) {
    const Hit& hit = result.hits[i + kBytes];
    const char* text = result.chunk_of(hit).text(hit.offset).data();
    __builtin_prefetch(text);  // an id precedes it, usually in the same cache line
    __builtin_prefetch(text + 64);
  }
}

// The hits of a result: a list of new objects of `type`, a class that derives from HitView.
PyObject* views_of(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
  if (n != 3) return PyErr_Format(PyExc_TypeError, "hits_of: expected type, hits, result, got %zd", n);
  PyObject *type = arguments[0], *hits = arguments[1], *result = arguments[2];
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), view_type))
    return PyErr_Format(PyExc_TypeError, "type: expected a class derived from HitView");
  auto* hit_type = reinterpret_cast<PyTypeObject*>(type);
  const Py_ssize_t n_hits = size_of(result);
  if (n_hits < 0) return nullptr;
  PyObject* list = PyList_New(n_hits);
  if (!list) return nullptr;
  const Result* native = Instances<Result>::behind(result);
  std::optional<base::EpochGuard> guard;
  if (native) guard.emplace();
  for (Py_ssize_t i = 0; i < n_hits; ++i) {
    if (native) announce(native->found, static_cast<size_t>(i));
    PyObject* view = hit_type->tp_alloc(hit_type, 0);
    if (view) PyList_SET_ITEM(list, i, view);
    if (!view || !place(as_view(view), hits, result, native, i)) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
}

// Calls read(payload) with the payload of a view's hit, an empty view if it has none. Returns false with an
// error set.
template <class Read>
bool read_payload(PyObject* object, Read&& read) {
  if (!PyType_IsSubtype(Py_TYPE(object), view_type)) {
    PyErr_Format(PyExc_TypeError, "hits: expected HitView, got %s", Py_TYPE(object)->tp_name);
    return false;
  }
  const HitView* view = as_view(object);
  if (!view->result) return raise_uninitialised(object) != nullptr;
  if (const Result* result = Instances<Result>::behind(view->result)) {
    const Hit& hit = result->found.hits[static_cast<size_t>(view->position)];
    const base::EpochGuard guard;
    read(result->found.chunk_of(hit).payload(hit.offset).value_or(std::string_view()));
    return true;
  }
  PyObject* const bytes = PyObject_CallMethod(view->result, "payload", "n", view->position);
  if (!bytes) return false;
  read(PyBytes_Check(bytes) ? std::string_view(PyBytes_AS_STRING(bytes), static_cast<size_t>(Py_SIZE(bytes)))
                            : std::string_view());
  Py_DECREF(bytes);
  return true;
}

std::string_view view_of_bytes(PyObject* bytes) noexcept {
  return {PyBytes_AS_STRING(bytes), static_cast<size_t>(Py_SIZE(bytes))};
}

// For each hit, a bit set of the names that occur in its payload; 0 if the payload does not begin like
// a JSON object.
PyObject* names_in(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
  constexpr Py_ssize_t kMostNames = 8;
  if (n != 2 || !PyList_Check(arguments[0]) || !PyTuple_Check(arguments[1]))
    return PyErr_Format(PyExc_TypeError, "names_in: expected hits, a list, and names, a tuple");
  PyObject *hits = arguments[0], *names = arguments[1];
  const Py_ssize_t n_names = PyTuple_GET_SIZE(names);
  if (n_names > kMostNames)
    return PyErr_Format(PyExc_ValueError, "names: expected at most 8, got %zd", n_names);
  for (Py_ssize_t i = 0; i < n_names; ++i) {
    if (!PyBytes_Check(PyTuple_GET_ITEM(names, i)))
      return PyErr_Format(PyExc_TypeError, "names: expected bytes");
  }
  PyObject* const tuple = PyList_AsTuple(hits);  // a non-native result may change the list
  if (!tuple) return nullptr;
  PyObject* list = PyList_New(PyTuple_GET_SIZE(tuple));
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); ++i) {
    long mask = 0;
    const bool read = read_payload(PyTuple_GET_ITEM(tuple, i), [&](std::string_view payload) {
      if (!payload.starts_with('{')) return;
      for (Py_ssize_t name = 0; name < n_names; ++name) {
        const bool holds = payload.find(view_of_bytes(PyTuple_GET_ITEM(names, name))) != payload.npos;
        mask |= long{holds} << name;
      }
    });
    PyObject* bits = read ? PyLong_FromLong(mask) : nullptr;
    if (!bits) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, i, bits);
  }
  Py_DECREF(tuple);
  return list;
}

// The text after a name in the payload of a hit, up to the next quote; None if the name is missing
// or occurs twice.
PyObject* named_in(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
  if (n != 2 || !PyBytes_Check(arguments[1]))
    return PyErr_Format(PyExc_TypeError, "named_in: expected a hit and a name, bytes");
  const std::string_view name = view_of_bytes(arguments[1]);
  PyObject* value = nullptr;
  const bool read = read_payload(arguments[0], [&](std::string_view payload) {
    const size_t at = payload.find(name);
    if (at == payload.npos || payload.find(name, at + 1) != payload.npos) return;
    const size_t begin = at + name.size(), end = payload.find('"', begin);
    if (end == payload.npos) return;
    value = PyBytes_FromStringAndSize(payload.data() + begin, static_cast<Py_ssize_t>(end - begin));
  });
  if (!read || PyErr_Occurred()) return nullptr;
  return value ? value : Py_NewRef(Py_None);
}

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A position in a Result: the base class of scrubjay.Hit.")},
    {Py_tp_new, reinterpret_cast<void*>(&PyType_GenericNew)},
    {Py_tp_init, reinterpret_cast<void*>(&init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&dispose)},
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear)},
    {Py_tp_getset, accessors},
    {Py_tp_members, members},
    {0, nullptr}};
PyType_Spec specification = {"scrubjay._native.HitView", sizeof(HitView), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

PyMethodDef views_definition = {
    "hits_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&views_of)), METH_FASTCALL,
    "hits_of(type: type, hits: object, result: typing.Any) -> list\n\nThe hits of a Result as a list of new "
    "objects of a class that derives from HitView, without calls of __init__."};

PyMethodDef names_definition = {
    "names_in", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&names_in)), METH_FASTCALL,
    "names_in(hits: list, names: tuple) -> list\n\nFor each HitView an int whose bit i tells whether name i, "
    "bytes, occurs in its payload; 0 if the payload is not a JSON object."};
PyMethodDef named_definition = {
    "named_in", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&named_in)), METH_FASTCALL,
    "named_in(hit: HitView, name: bytes) -> bytes | None\n\nThe text after a name in the payload of a hit, "
    "up "
    "to the next quote; None if the name is missing or occurs twice."};

}  // namespace

void register_hits(py::module_& module) {
  auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&specification));
  if (!type) throw py::error_already_set();
  view_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  module.attr("HitView") = type;
  for (PyMethodDef* definition : {&views_definition, &names_definition, &named_definition}) {
    module.attr(definition->ml_name) = py::reinterpret_steal<py::object>(
        PyCFunction_NewEx(definition, nullptr, module.attr("__name__").ptr()));
  }
}

}  // namespace scrubjay::bindings
