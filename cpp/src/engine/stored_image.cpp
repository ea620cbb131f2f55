#include "engine/stored_image.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "base/interruption.hpp"
#include "base/place.hpp"

#if !defined(_WIN32)
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace scrubjay::engine {
namespace {

// Small enough for the second cache of a processor, from which the pages are copied to their places.
constexpr size_t kRunBytes = size_t{1} << 17;
constexpr size_t kFirstRunPages = 4;
constexpr int kMaxHeight = 20;  // of a B-tree; those of SQLite have fewer levels
constexpr unsigned char kTableInterior = 5, kTableLeaf = 13;

[[noreturn]] void absent() { throw base::Corrupt("image of a chunk: not found in the pages of the file"); }

// Reads big-endian numbers from a page; base::Corrupt beyond its end.
class PageReader {
 public:
  PageReader(std::string_view page, size_t at) noexcept : page_(page), at_(at) {}

  [[nodiscard]] size_t at() const noexcept { return at_; }
  [[nodiscard]] uint64_t number(size_t n_bytes) {
    uint64_t value = 0;
    for (const char byte : take(n_bytes)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  [[nodiscard]] uint64_t varint() {
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
      const uint64_t byte = number(1);
      value = value << 7 | (byte & 0x7f);
      if (byte < 0x80) return value;
    }
    return value << 8 | number(1);
  }
  [[nodiscard]] std::string_view take(size_t n_bytes) {
    if (at_ > page_.size() || n_bytes > page_.size() - at_) absent();
    const std::string_view taken = page_.substr(at_, n_bytes);
    at_ += n_bytes;
    return taken;
  }

 private:
  std::string_view page_;
  size_t at_;
};

// The pages of a file, read into one buffer.
class PageFile {
 public:
  explicit PageFile(int descriptor) : descriptor_(descriptor) {
    char header[32];
    if (read(header, sizeof header, 0) != sizeof header) absent();
    PageReader in({header, sizeof header}, 16);
    const uint64_t size = in.number(2);
    page_bytes_ = size == 1 ? size_t{1} << 16 : static_cast<size_t>(size);
    in = PageReader({header, sizeof header}, 20);
    const auto n_reserved = static_cast<size_t>(in.number(1));
    if (page_bytes_ < 512 || (page_bytes_ & (page_bytes_ - 1)) != 0 || page_bytes_ - n_reserved < 480)
      absent();
    usable_bytes_ = page_bytes_ - n_reserved;
    buffer_ = std::make_unique_for_overwrite<char[]>(std::max(kRunBytes, page_bytes_));
  }

  [[nodiscard]] size_t usable_bytes() const noexcept { return usable_bytes_; }
  [[nodiscard]] size_t run_pages() const noexcept { return std::max<size_t>(1, kRunBytes / page_bytes_); }

  [[nodiscard]] uint64_t offset_of(uint64_t page) const noexcept { return (page - 1) * page_bytes_; }
  [[nodiscard]] size_t page_bytes() const noexcept { return page_bytes_; }
  [[nodiscard]] char* buffer() noexcept { return buffer_.get(); }

  // Reads up to `n` pages from number `first` on; returns how many there are, at least one.
  [[nodiscard]] size_t read_pages(uint64_t first, size_t n) {
    if (first == 0) absent();
    const size_t n_read = read(buffer_.get(), n * page_bytes_, (first - 1) * page_bytes_) / page_bytes_;
    if (n_read == 0) absent();
    return n_read;
  }
  // The usable bytes of one of the pages that were read.
  [[nodiscard]] std::string_view page(size_t i) const noexcept {
    return {buffer_.get() + i * page_bytes_, usable_bytes_};
  }

  // Reads consecutive bytes into several places; returns how many. `parts` are used up.
  [[nodiscard]] size_t read_parts(uint64_t at, std::vector<base::Place>& parts) const {
    size_t n_read = 0;
#if !defined(_WIN32)
    constexpr size_t kMost = 512;  // fewer than IOV_MAX
    for (size_t next = 0; next < parts.size();) {
      iovec some[kMost];
      const size_t n_some = std::min(kMost, parts.size() - next);
      for (size_t i = 0; i < n_some; ++i) some[i] = {parts[next + i].memory, parts[next + i].n_bytes};
      const ssize_t n =
          ::preadv(descriptor_, some, static_cast<int>(n_some), static_cast<off_t>(at + n_read));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;  // the end, or an error, which SQLite will meet and name
      n_read += static_cast<size_t>(n);
      for (auto left = static_cast<size_t>(n); left != 0;) {
        base::Place& part = parts[next];
        const size_t taken = std::min(left, part.n_bytes);
        part = {part.memory + taken, part.n_bytes - taken};
        left -= taken;
        if (part.n_bytes == 0) ++next;
      }
    }
#else
    (void)at, (void)parts;
#endif
    return n_read;
  }

 private:
  [[nodiscard]] size_t read(char* out, size_t n_bytes, uint64_t at) const {
    size_t n_read = 0;
#if !defined(_WIN32)
    while (n_read < n_bytes) {
      const ssize_t n = ::pread(descriptor_, out + n_read, n_bytes - n_read, static_cast<off_t>(at + n_read));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;  // the end, or an error, which SQLite will meet and name
      n_read += static_cast<size_t>(n);
    }
#else
    (void)out, (void)n_bytes, (void)at;
#endif
    return n_read;
  }

  const int descriptor_;
  size_t page_bytes_ = 0, usable_bytes_ = 0;
  std::unique_ptr<char[]> buffer_;
};

// The cell of a row in a leaf, once its page is in the buffer.
struct Cell {
  uint64_t n_bytes;        // of the row
  std::string_view local;  // its bytes in the leaf
  uint64_t overflow;       // page with the next bytes; 0: there are none
};

[[nodiscard]] Cell cell_at(const PageFile& file, std::string_view page, uint64_t at) {
  PageReader in(page, static_cast<size_t>(at));
  Cell cell{};
  cell.n_bytes = in.varint();
  (void)in.varint();  // the row's number
  const size_t usable = file.usable_bytes(), most = usable - 35;
  if (cell.n_bytes <= most) {
    cell.local = in.take(static_cast<size_t>(cell.n_bytes));
    return cell;
  }
  const size_t least = (usable - 12) * 32 / 255 - 23;
  const size_t fitting = least + static_cast<size_t>((cell.n_bytes - least) % (usable - 4));
  cell.local = in.take(fitting <= most ? fitting : least);
  cell.overflow = in.number(4);
  return cell;
}

[[nodiscard]] Cell find_row(PageFile& file, uint32_t root, int64_t row) {
  uint64_t number = root;
  for (int height = 0; height < kMaxHeight; ++height) {
    if (number == 1) absent();  // begins with the header of the file
    (void)file.read_pages(number, 1);
    const std::string_view page = file.page(0);
    PageReader in(page, 0);
    const auto kind = static_cast<unsigned char>(in.number(1));
    if (kind != kTableInterior && kind != kTableLeaf) absent();
    in = PageReader(page, 3);
    const uint64_t n_cells = in.number(2);
    const bool is_leaf = kind == kTableLeaf;
    const size_t pointers = is_leaf ? 8 : 12;
    const auto cell = [&](uint64_t i) {
      return PageReader(page, pointers + 2 * static_cast<size_t>(i)).number(2);
    };
    const auto row_of = [&](uint64_t i) {
      PageReader at(page, static_cast<size_t>(cell(i)));
      if (is_leaf) {
        (void)at.varint();  // the size
      } else {
        (void)at.number(4);  // the child
      }
      return static_cast<int64_t>(at.varint());
    };
    uint64_t first = 0, end = n_cells;  // the first cell whose row is not less
    while (first < end) {
      const uint64_t middle = first + (end - first) / 2;
      if (row_of(middle) < row) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    if (is_leaf) {
      if (first == n_cells || row_of(first) != row) absent();
      return cell_at(file, page, cell(first));
    }
    number = PageReader(page, first == n_cells ? 8 : static_cast<size_t>(cell(first))).number(4);
  }
  absent();
}

// Compares the first bytes of a BLOB, and divides all into those of the image and those of the end.
class Division {
 public:
  Division(const StoredImage& stored, ArrivingImage& image)
      : image_(image), first_(stored.first), n_left_(stored.n_bytes() - stored.end.size()) {}

  void add(std::string_view bytes) {
    const size_t n_same = std::min(first_.size(), bytes.size());
    if (bytes.substr(0, n_same) != first_.substr(0, n_same)) absent();
    first_.remove_prefix(n_same);
    const auto n = static_cast<size_t>(std::min<uint64_t>(n_left_, bytes.size()));
    if (n != 0) image_.add(bytes.substr(0, n));
    n_left_ -= n;
    end_.append(bytes.substr(n));
  }
  // Memory for the next bytes, from which add() copies nothing: `n_bytes` in places of the image, as far as it
  // has places, and then in `buffer`.
  void next_places(size_t n_bytes, char* buffer, std::vector<base::Place>& out) const {
    out.clear();
    if (first_.empty()) image_.next_places(static_cast<size_t>(std::min<uint64_t>(n_left_, n_bytes)), out);
    for (const base::Place& place : out) n_bytes -= place.n_bytes;
    if (n_bytes != 0) out.push_back({buffer, n_bytes});
  }
  [[nodiscard]] const std::string& end() const noexcept { return end_; }

 private:
  ArrivingImage& image_;
  std::string_view first_;
  uint64_t n_left_;
  std::string end_;
};

// Reads runs of overflow pages. Their bytes go straight to their places in the image, their links elsewhere.
class ChainReader {
 public:
  ChainReader(PageFile& file, Division& out)
      : file_(file), out_(out), run_(std::min(kFirstRunPages, file.run_pages())), links_(file.run_pages()) {}

  // Adds `n_left` bytes from the chain that begins at page `next`.
  void read(uint64_t next, uint64_t n_left) {
    const size_t n_in_page = file_.usable_bytes() - kLinkBytes;
    while (n_left != 0) {
      base::interruption_point();
      if (next == 0) absent();
      const uint64_t first = next, n_needed = (n_left + n_in_page - 1) / n_in_page;
      const auto n_wanted = static_cast<size_t>(std::min<uint64_t>(run_, n_needed));
      const size_t n_read =
          read_run(first, n_wanted, static_cast<size_t>(std::min<uint64_t>(n_left, n_wanted * n_in_page)));
      size_t n_used = 0;
      for (; n_used < n_read && n_left != 0 && next == first + n_used; ++n_used) {
        const auto n = static_cast<size_t>(std::min<uint64_t>(n_left, n_in_page));
        add(n);
        n_left -= n;
        next = PageReader({links_[n_used].data(), kLinkBytes}, 0).number(kLinkBytes);
      }
      if (n_used == 0) absent();
      // Longer runs while the pages lie in order: a page of another chain costs a copy by the system.
      if (n_used < n_needed) run_ = std::clamp(2 * n_used, size_t{1}, file_.run_pages());
    }
  }

 private:
  static constexpr size_t kLinkBytes = 4;

  // Reads up to `n` pages with `n_bytes` of the BLOB; returns how many were read whole.
  size_t read_run(uint64_t first, size_t n, size_t n_bytes) {
    out_.next_places(n_bytes, file_.buffer(), places_);
    place_ = n_taken_ = 0;
    const size_t n_in_page = file_.usable_bytes() - kLinkBytes;
    parts_.clear();
    size_t place = 0, n_in_place = 0, n_last = 0;
    for (size_t i = 0; i < n; ++i) {
      parts_.push_back({links_[i].data(), kLinkBytes});
      n_last = std::min(n_bytes, n_in_page);
      n_bytes -= n_last;
      for (size_t left = n_last; left != 0;) {
        const size_t some = std::min(left, places_[place].n_bytes - n_in_place);
        parts_.push_back({places_[place].memory + n_in_place, some});
        left -= some;
        n_in_place += some;
        if (n_in_place == places_[place].n_bytes) ++place, n_in_place = 0;
      }
      const size_t n_reserved = file_.page_bytes() - file_.usable_bytes();
      if (n_reserved != 0 && n_bytes != 0) parts_.push_back({reserved_.data(), n_reserved});
    }
    // The last page may hold fewer bytes of the BLOB.
    const size_t n_pages_read = file_.read_parts(file_.offset_of(first), parts_);
    const size_t whole = n_pages_read / file_.page_bytes(), rest = n_pages_read % file_.page_bytes();
    return whole == n - 1 && rest >= kLinkBytes + n_last ? n : std::min(whole, n);
  }

  // Adds the next bytes of the run.
  void add(size_t n_bytes) {
    while (n_bytes != 0) {
      const base::Place& place = places_[place_];
      const size_t n = std::min(n_bytes, place.n_bytes - n_taken_);
      out_.add({place.memory + n_taken_, n});
      n_bytes -= n;
      n_taken_ += n;
      if (n_taken_ == place.n_bytes) ++place_, n_taken_ = 0;
    }
  }

  PageFile& file_;
  Division& out_;
  size_t run_;                                       // pages of the next run, also of the next chain
  std::vector<std::array<char, kLinkBytes>> links_;  // of the pages of the run
  std::array<char, 256> reserved_;
  std::vector<base::Place> places_, parts_;
  size_t place_ = 0, n_taken_ = 0;  // how far the run was added
};

}  // namespace

uint64_t StoredImage::n_bytes() const noexcept {
  uint64_t n = 0;
  for (const Row& row : rows) n += row.n_bytes;
  return n;
}

void read_stored_image(const StoredImage& stored, ArrivingImage& image) {
  if (stored.first.size() < StoredImage::kFirstBytes ||
      stored.n_bytes() < stored.first.size() + stored.end.size())
    absent();
  PageFile file(stored.descriptor);
  Division division(stored, image);
  ChainReader chain(file, division);
  for (const StoredImage::Row& row : stored.rows) {
    const Cell cell = find_row(file, stored.root, row.number);
    // The columns before the BLOB.
    if (cell.n_bytes < row.n_bytes || cell.n_bytes - row.n_bytes > cell.local.size()) absent();
    const std::string_view local = cell.local.substr(static_cast<size_t>(cell.n_bytes - row.n_bytes));
    const uint64_t overflow = cell.overflow;
    division.add(local);
    chain.read(overflow, row.n_bytes - local.size());
  }
  if (division.end() != stored.end) absent();
}

}  // namespace scrubjay::engine
