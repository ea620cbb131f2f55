#include "lexical/selection.hpp"

#include <algorithm>
#include <utility>

namespace scrubjay::lexical {
namespace {

constexpr size_t kBeyond = 16;  // that kernels may write after the last candidate

}  // namespace

void Selection::make_room(size_t n) {
  const size_t needed = n_ + n + kBeyond;
  if (needed <= capacity_) return;
  const size_t capacity = needed + capacity_ / 2;
  const auto grow = [&](std::unique_ptr<uint32_t[]>& array) {
    std::unique_ptr<uint32_t[]> grown(new uint32_t[capacity]);
    std::copy_n(array.get(), n_, grown.get());
    return grown;
  };
  std::unique_ptr<uint32_t[]> docs = grow(docs_), scores = grow(scores_);
  docs_ = std::move(docs);
  scores_ = std::move(scores);
  capacity_ = capacity;
}

void Selection::add(size_t n, uint32_t first_doc) {
  if (n == 0) return;
  for (size_t i = n_; i < n_ + n; ++i) docs_[i] += first_doc;
  n_ += n;
  // A few candidates beyond k are kept: a slightly lower threshold costs less than finding the exact one.
  if (n_ >= k_ && (!tight_ || n_ - k_ > k_ / 8)) tighten();
}

// Keeps the best k and raises the threshold to the worst of them.
void Selection::tighten() {
  const uint32_t kth = kernels_.kth_greatest(scores_.get(), n_, k_, tight_ ? threshold_ - 1 : 0);
  n_ = kernels_.keep_above(docs_.get(), scores_.get(), n_, kth - 1);
  if (n_ > k_) drop_last_of(kth, n_ - k_);
  threshold_ = std::max(threshold_, kth);
  tight_ = true;
}

// Drops the `surplus` last documents among the candidates with this score.
void Selection::drop_last_of(uint32_t score, size_t surplus) {
  equal_.resize(n_);
  size_t n_equal = 0;
  for (size_t i = 0; i < n_; ++i) {  // without a branch per candidate
    equal_[n_equal] = docs_[i];
    n_equal += scores_[i] == score ? 1 : 0;
  }
  equal_.resize(n_equal);
  const auto first_to_go = equal_.end() - static_cast<ptrdiff_t>(surplus);
  std::nth_element(equal_.begin(), first_to_go, equal_.end());
  const uint32_t limit = *first_to_go;
  size_t n_kept = 0;
  for (size_t i = 0; i < n_; ++i) {
    docs_[n_kept] = docs_[i];
    scores_[n_kept] = scores_[i];
    n_kept += static_cast<size_t>(scores_[i] != score) | static_cast<size_t>(docs_[i] < limit);
  }
  n_ = n_kept;
}

void Selection::finish(base::TopK& best) {
  if (n_ > k_ + k_ / 4) tighten();  // a few more are sorted faster than counted
  keys_.resize(n_);
  for (size_t i = 0; i < n_; ++i) keys_[i] = base::candidate_key(scores_[i], docs_[i]);
  sorter_.sort(keys_, kernels_.count_greater);
  if (n_ > k_) keys_.resize(k_);
  best.assign(keys_);
}

}  // namespace scrubjay::lexical
