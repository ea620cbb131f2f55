// Text bindings: analyze, porter2 and sanitize_utf8 for Python.
#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interruption.hpp"
#include "gil.hpp"
#include "stemmer.hpp"
#include "text/analyzer.hpp"
#include "text/dates.hpp"
#include "text/query_terms.hpp"
#include "text/snowball.hpp"

namespace py = pybind11;
namespace base = scrubjay::base;
namespace text = scrubjay::text;

namespace {

using StrOrBytes = py::typing::Union<py::str, py::bytes>;
using Tokens = py::typing::List<py::typing::Tuple<py::str, py::str>>;

// The bytes of a str (as UTF-8) or of bytes; they belong to the object.
std::string_view view(const py::object& text) {
  if (PyUnicode_Check(text.ptr())) {
    Py_ssize_t size = 0;
    const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (utf8 == nullptr)
      throw py::error_already_set();  // a lone surrogate: UnicodeEncodeError, which is a ValueError
    return {utf8, static_cast<size_t>(size)};
  }
  if (PyBytes_Check(text.ptr())) {
    return {PyBytes_AS_STRING(text.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(text.ptr()))};
  }
  throw py::type_error("text: expected str or bytes, got " + std::string(Py_TYPE(text.ptr())->tp_name));
}

// Ends a call that holds the GIL if a Python signal handler raises.
void act_on_signals(void* /*context*/) {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

Tokens analyze(const StrOrBytes& utf8, const std::string& analyzer, const py::object& stemmer,
               size_t cache_bytes) {
  const text::Analyzer rules({analyzer, scrubjay::bindings::to_stemmer(stemmer)});
  text::Analyzer::Scratch scratch(cache_bytes);
  std::vector<text::Token> tokens;
  const std::string_view bytes = view(utf8);
  const base::Interruptible interruptible(&act_on_signals, nullptr);  // megabytes take long
  scrubjay::bindings::in_python([&] { rules.analyze(bytes, scratch, tokens); });
  Tokens result;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i % 4096 == 4095) base::interruption_point();
    result.append(py::make_tuple(tokens[i].term, text::kind_name(tokens[i].kind)));
  }
  return result;
}

py::typing::List<py::str> query_terms(const StrOrBytes& utf8, const std::string& analyzer,
                                      const py::object& stemmer) {
  const text::Analyzer rules({analyzer, scrubjay::bindings::to_stemmer(stemmer)});
  const std::string_view bytes = view(utf8);
  std::vector<std::string> terms;
  scrubjay::bindings::in_python([&] { terms = text::query_terms(bytes, rules); });
  py::list result;
  for (const std::string& term : terms) result.append(py::str(term));
  return result;
}

bool names_days(const StrOrBytes& utf8, int64_t now_us) {
  text::Dates dates;
  if (!dates.read(view(utf8))) return false;
  dates.resolve(now_us);
  return !dates.windows().empty();
}

// Texts are kept alive and read once before the timing starts; the GIL is released during it.
py::typing::Tuple<py::int_, py::int_, py::float_> analyze_throughput(
    const py::typing::List<StrOrBytes>& texts, const std::string& analyzer, py::ssize_t passes) {
  if (passes < 1) throw py::value_error("passes: expected a number >= 1, got " + std::to_string(passes));
  std::vector<std::string> copies;
  size_t n_bytes = 0;
  for (const py::handle item : texts) {
    copies.emplace_back(view(py::reinterpret_borrow<py::object>(item)));
    n_bytes += copies.back().size();
  }
  size_t n_tokens = 0;
  double best = std::numeric_limits<double>::infinity();
  {
    const scrubjay::bindings::InterruptibleWithoutGil without_gil;
    const text::Analyzer rules(text::AnalyzerOptions{analyzer, {}});
    text::Analyzer::Scratch scratch;
    std::vector<text::Token> tokens;
    for (py::ssize_t pass = 0; pass < passes; ++pass) {
      n_tokens = 0;
      const auto start = std::chrono::steady_clock::now();
      for (const std::string& copy : copies) {
        rules.analyze(copy, scratch, tokens);
        n_tokens += tokens.size();
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count());
    }
  }
  return py::make_tuple(n_bytes, n_tokens, best);
}

}  // namespace

void register_text(py::module_& module) {
  module.def("analyze", &analyze, py::arg("text"), py::arg("analyzer") = "english", py::kw_only(),
             py::arg("stemmer") = py::none(),
             py::arg("cache_bytes") = text::Analyzer::Scratch::kDefaultCacheBytes,
             R"(The terms of a text in order of appearance, each with its kind.

Kinds: "word" and "part" count towards the document length, "whole" and "joined" are further ways to find an
identifier. `text` may be bytes; ill-formed UTF-8 is read as U+FFFD. `analyzer` is "english", "plain" (no
stemming), a language of Snowball ("german", ...), or a name of your own together with a `stemmer`, which
maps a case-folded word to its stem. `cache_bytes` bounds the surface-form cache and does not change the
result.

>>> analyze("Keys: TS-999")
[('key', 'word'), ('ts-999', 'whole'), ('ts', 'part'), ('999', 'part'), ('ts999', 'joined')]

Raises ValueError for an unknown analyzer name or a str with a lone surrogate, TypeError for another type,
and the exceptions of the stemmer.)");
  module.def(
      "query_terms", &query_terms, py::arg("text"), py::arg("analyzer") = "english", py::kw_only(),
      py::arg("stemmer") = py::none(),
      R"(The distinct terms that a question asks for, in its order, followed by other forms of its words.

Function words are left out unless the question has nothing else. Arguments and errors are those of
analyze().

>>> query_terms("What is the colour of TS-999?")
['colour', 'ts-999', 'ts', '999', 'ts999', 'color'])");
  module.def(
      "names_days", &names_days, py::arg("text"), py::kw_only(), py::arg("now_us"),
      R"(Whether a question names days, according to the signal `dates`. now_us: the time of the question.

>>> names_days("What did we choose last March?", now_us=0), names_days("error 2023", now_us=0)
(True, False))");
  module.def("analyze_throughput", &analyze_throughput, py::arg("texts"), py::arg("analyzer") = "english",
             py::kw_only(), py::arg("passes") = 2,
             R"(Measures analysis without Python: (bytes, terms, seconds of the fastest pass).

Analyses all `texts` (a list of str or bytes) `passes` times on this thread, without the GIL, like an
engine; from the second pass on the surface-form cache is warm. Bytes are UTF-8 bytes of one pass. For
measurements: `python -m benchmarks.micro` prints MB a second.

>>> n_bytes, n_terms, seconds = analyze_throughput(["Keys: TS-999"])
>>> n_bytes, n_terms
(12, 5)

Raises ValueError for an unknown analyzer, passes < 1 or a lone surrogate, TypeError for another type.)");
  module.def(
      "languages",
      [] {
        py::typing::List<py::str> names;
        for (const text::snowball::Program& program : text::snowball::all_programs())
          names.append(py::str(program.language));
        return names;
      },
      R"(The languages of Snowball, which are valid analyzer names in addition to "english" and "plain".

>>> languages()[:3]
['arabic', 'armenian', 'basque'])");
  module.def(
      "porter2", [](std::string_view word) { return text::porter2(word); }, py::arg("word"),
      R"(The English stem of a lower-case word (Porter2, as Snowball 3.1 defines it).

>>> porter2("conversations")
'convers')");
  module.def(
      "sanitize_utf8", [](const StrOrBytes& bytes) { return text::sanitize_utf8(view(bytes)); },
      py::arg("text"),
      R"(Decodes bytes, replacing each maximal ill-formed subpart by one U+FFFD.

>>> sanitize_utf8(b"caf\xc3\xa9 \xff")
'café \ufffd')");
}
