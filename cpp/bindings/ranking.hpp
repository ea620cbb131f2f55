// How documents are to be ranked, as Python says it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include "engine/ranking_options.hpp"

namespace scrubjay::bindings {

using RankingPtr = std::shared_ptr<const engine::RankingOptions>;

// The ranking of one search: of `fusion` (None, a Ranking, or an object whose `compiled` is one), or of
// `rrf_k` and `weights`, which stand for plain reciprocal rank fusion. Keeps what it points to.
class RankingChoice {
 public:
  // TypeError, ValueError.
  RankingChoice(const pybind11::object& fusion, const pybind11::object& rrf_k,
                const pybind11::object& weights);
  [[nodiscard]] const engine::RankingOptions* get() const noexcept {
    return own_ ? &*own_ : shared_ ? shared_.get() : &engine::default_ranking();
  }

 private:
  RankingPtr shared_;
  std::optional<engine::RankingOptions> own_;
};

void register_ranking(pybind11::module_& module);

}  // namespace scrubjay::bindings
