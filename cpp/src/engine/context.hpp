// Context: words that are indexed with a document's text but are not part of it (a title, a summary
// of its surroundings).
//
// The payload of a document with a context is a JSON object that begins with {"context":"... (written by
// python/scrubjay/documents/payload.py). The terms of the context count with their frequency, but not towards the
// document's length. Reference: tests/reference/model.py.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace scrubjay::engine {

inline constexpr size_t kMaxContextBytes = 65536;  // a longer context is not indexed

// Returns the context as UTF-8, a view of `buffer` or of the payload; empty if there is none. A payload
// without a context is not parsed.
[[nodiscard]] std::string_view context_of(std::optional<std::string_view> payload, std::string& buffer);

}  // namespace scrubjay::engine
