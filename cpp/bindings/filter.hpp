// Filters as Python writes them, and as the core takes them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "engine/engine.hpp"
#include "filter/predicate.hpp"

namespace scrubjay::bindings {

// The class `Filter`: a predicate that is compiled once and used for any number of searches.
struct Filter {
  std::shared_ptr<const filter::Predicate> predicate;
  std::string text;  // for repr()
};

// A set of ids: a set, list, array, bitmap or other iterable. None: no such condition. TypeError.
[[nodiscard]] std::optional<filter::IdSet> to_id_set(const pybind11::object& value, const char* name);

// The arguments filter, ids and exclude of one search (None: no such condition), and what they own.
class FilterArguments {
 public:
  FilterArguments(const pybind11::object& filter, const pybind11::object& ids,
                  const pybind11::object& exclude);
  [[nodiscard]] engine::DocumentFilter view() const noexcept;

 private:
  std::shared_ptr<const filter::Predicate> predicate_;
  std::optional<filter::IdSet> ids_, exclude_;
};

}  // namespace scrubjay::bindings
