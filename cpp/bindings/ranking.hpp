// Ranking: conversion of ranking options from Python.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include "engine/ranking_options.hpp"

namespace scrubjay::bindings {

using RankingPtr = std::shared_ptr<const engine::RankingOptions>;

// The options of a CompiledRanking. Raises TypeError.
[[nodiscard]] RankingPtr to_ranking(const pybind11::object& compiled);

void register_ranking(pybind11::module_& module);

}  // namespace scrubjay::bindings
