// Draft: the tokens of one surface form under construction, in reusable buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/interruption.hpp"
#include "text/analyzer.hpp"

namespace scrubjay::text {

class Draft {
 public:
  struct Item {
    size_t offset;
    uint8_t length;
    TokenKind kind;
  };

  static constexpr size_t kItemsALook = 4096;  // interruption interval, for a run as long as a book

  void clear() noexcept {
    bytes_.clear();
    items_.clear();
  }

  // Adds a term, cut to kMaxTermBytes; ignores an empty one.
  void add(std::string_view term, TokenKind kind) {
    term = cut_utf8(term, kMaxTermBytes);
    if (term.empty()) return;
    if (items_.size() % kItemsALook == kItemsALook - 1) base::interruption_point();
    items_.push_back({bytes_.size(), static_cast<uint8_t>(term.size()), kind});
    bytes_.append(term);
  }

  [[nodiscard]] const std::vector<Item>& items() const noexcept { return items_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string_view term(const Item& item) const noexcept {
    return std::string_view(bytes_).substr(item.offset, item.length);
  }

  // Removes the items from `first` on for which keep(item) is false.
  template <typename Keep>
  void filter(size_t first, Keep keep) {
    size_t end = first;
    for (size_t i = first; i < items_.size(); ++i) {
      if (keep(i)) items_[end++] = items_[i];
    }
    items_.resize(end);
  }

  [[nodiscard]] size_t memory_bytes() const noexcept {
    return bytes_.capacity() + items_.capacity() * sizeof(Item);
  }

 private:
  std::string bytes_;
  std::vector<Item> items_;
};

}  // namespace scrubjay::text
