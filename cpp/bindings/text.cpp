// Text bindings: analyze, porter2 and sanitize_utf8 for Python.
#include <pybind11/pybind11.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/analyzer.hpp"

namespace py = pybind11;
namespace text = scrubjay::text;

namespace {

py::list analyze(std::string_view utf8, const std::string& analyzer, const py::object& stemmer, size_t cache_bytes) {
  text::AnalyzerOptions options{analyzer, {}};
  if (!stemmer.is_none()) {
    options.stemmer = [&stemmer](std::string_view word) { return stemmer(py::str(word)).cast<std::string>(); };
  }
  const text::Analyzer rules(std::move(options));
  text::Analyzer::Scratch scratch(cache_bytes);
  std::vector<text::Token> tokens;
  rules.analyze(utf8, scratch, tokens);
  py::list result(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    result[i] = py::make_tuple(tokens[i].term, text::kind_name(tokens[i].kind));
  }
  return result;
}

}  // namespace

void register_text(py::module_& module) {
  module.def("analyze", &analyze, py::arg("text"), py::arg("analyzer") = "english", py::kw_only(),
             py::arg("stemmer") = py::none(), py::arg("cache_bytes") = text::Analyzer::Scratch::kDefaultCacheBytes,
             R"(The terms of a text in order of appearance, each with its kind.

Kinds: "word" and "part" count towards the document length, "whole" and "joined" are further ways
to find an identifier. `text` may be bytes; ill-formed UTF-8 is read as U+FFFD. `analyzer` is
"english", "plain" (no stemming), or a name of your own together with a `stemmer`, which maps a
case-folded word to its stem. `cache_bytes` bounds the surface-form cache and changes no result.

>>> analyze("Keys: TS-999")
[('key', 'word'), ('ts-999', 'whole'), ('ts', 'part'), ('999', 'part'), ('ts999', 'joined')]

Raises ValueError for an unknown analyzer name, and whatever the stemmer raises.)");
  module.def(
      "porter2", [](std::string_view word) { return text::porter2(word); }, py::arg("word"),
      R"(The English stem of a lower-case word (Porter2, as Snowball 3.1 defines it).

>>> porter2("conversations")
'convers')");
  module.def(
      "sanitize_utf8", [](std::string_view bytes) { return text::sanitize_utf8(bytes); }, py::arg("text"),
      R"(The text of some bytes, with one U+FFFD for each maximal ill-formed subpart.

>>> sanitize_utf8(b"caf\xc3\xa9 \xff")
'café \ufffd')");
}
