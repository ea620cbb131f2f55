// Filters: conversion from Python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "filter/predicate.hpp"

namespace scrubjay::bindings {

// The class `Filter`: a predicate that is compiled once and used for any number of searches.
struct Filter {
  std::shared_ptr<const filter::Predicate> predicate;
  std::string text;  // for repr()
};

// Documents that Python names by ids and by pairs (scope, id): a set, list, array, bitmap or other iterable.
// Keeps the objects that it refers to.
class NamedDocuments {
 public:
  // None: no such condition. Raises TypeError.
  NamedDocuments(const pybind11::object& value, const char* name);
  [[nodiscard]] engine::DocumentNames view() const noexcept;

 private:
  std::optional<filter::IdSet> ids_;
  std::vector<engine::DocumentKey> keys_;
  pybind11::tuple items_;
};

// The arguments filter, ids and exclude of one search (None: no such condition), and the objects
// that they own.
class FilterArguments {
 public:
  FilterArguments(const pybind11::object& filter, const pybind11::object& ids,
                  const pybind11::object& exclude);
  [[nodiscard]] engine::DocumentFilter view() const noexcept;

 private:
  std::shared_ptr<const filter::Predicate> predicate_;
  NamedDocuments ids_, exclude_;
};

}  // namespace scrubjay::bindings
