#include "text/unicode.hpp"

// Serial code only: it is used after the surface-form cache, and an object without ISA extensions
// cannot leak any.
#define SZ_DYNAMIC_DISPATCH 0
#define SZ_USE_WESTMERE 0
#define SZ_USE_HASWELL 0
#define SZ_USE_GOLDMONT 0
#define SZ_USE_SKYLAKE 0
#define SZ_USE_ICELAKE 0
#define SZ_USE_NEON 0
#define SZ_USE_NEONAES 0
#define SZ_USE_NEONSHA 0
#define SZ_USE_SVE 0
#define SZ_USE_SVE2 0
#define SZ_USE_SVE2AES 0
#define SZ_USE_V128 0
#define SZ_USE_V128RELAXED 0
#define SZ_USE_RVV 0
#define SZ_USE_LASX 0
#define SZ_USE_POWERVSX 0

#include <stringzilla/utf8_norm.h>
#include <stringzilla/utf8_uncased_fold.h>
#include <stringzilla/utf8_wordbreaks.h>

#include <algorithm>
#include <cstddef>

#include "base/interruption.hpp"
#include "text/analyzer.hpp"
#include "text/utf8.hpp"

namespace scrubjay::text {
namespace {

// Long texts are processed in windows, so that worst-case buffers (18 bytes out for one in) stay small.
constexpr size_t kWindowBytes = 1024;
constexpr size_t kMaxNormalGrowth = sz_utf8_norm_decomp_max_k;
constexpr size_t kMaxFoldGrowth = 3;

// Whether a character never takes part in composition or reordering with preceding ones, so that a window may
// start there.
bool starts_afresh(char32_t c) noexcept {
  return c < 0x80 || (c >= 0x3400 && c <= 0x9fff) || (c >= 0xac00 && c <= 0xd7a3) ||
         (c >= 0x3000 && c <= 0x3029) || (c >= 0x30a1 && c <= 0x30fa) || (c >= 0x3041 && c <= 0x3096);
}

// End of a window of at least kWindowBytes that starts at 0 and ends before such a character.
size_t window_end(std::string_view text) noexcept {
  if (text.size() <= kWindowBytes) return text.size();
  size_t at = cut_utf8(text, kWindowBytes).size();
  while (at < text.size() && !starts_afresh(decode_utf8(text, at))) {
    at += utf8_length(static_cast<unsigned char>(text[at]));
  }
  return std::min(at, text.size());
}

void normalise(std::string_view text, sz_normal_form_t form, std::string& out) {
  out.clear();
  while (!text.empty()) {
    base::interruption_point();
    const std::string_view window = text.substr(0, window_end(text));
    const size_t before = out.size();
    out.resize(before + window.size() * kMaxNormalGrowth);
    out.resize(before + sz_utf8_norm_serial(window.data(), window.size(), form, out.data() + before));
    text.remove_prefix(window.size());
    if (out.size() > kMaxNormalBytes) return;
  }
}

}  // namespace

void nfkc(std::string_view text, std::string& out) { normalise(text, sz_normal_form_nfkc_k, out); }

void nfkd(std::string_view text, std::string& out) { normalise(text, sz_normal_form_nfkd_k, out); }

bool is_nfkc(std::string_view text) noexcept {
  return sz_utf8_find_denormalized_serial(text.data(), text.size(), sz_normal_form_nfkc_k) == nullptr;
}

void fold_case(std::string_view text, std::string& out) {
  out.resize(text.size() * kMaxFoldGrowth);
  out.resize(sz_utf8_uncased_fold_serial(text.data(), text.size(), out.data()));
}

WordClass word_class(char32_t c) noexcept {
  switch (sz_rune_word_break_property(static_cast<sz_rune_t>(c))) {
    case sz_utf8_word_break_extend_k:
    case sz_utf8_word_break_zwj_k:
    case sz_utf8_word_break_format_k:
      return WordClass::extends;
    case sz_utf8_word_break_aletter_k:
    case sz_utf8_word_break_hebrew_letter_k:
    case sz_utf8_word_break_numeric_k:
      return WordClass::letter;
    case sz_utf8_word_break_katakana_k:
    case sz_utf8_word_break_extendnumlet_k:
    case sz_utf8_word_break_midletter_k:
    case sz_utf8_word_break_midnum_k:
    case sz_utf8_word_break_mid_quotes_k:
      return WordClass::connects;
    default:
      return WordClass::other;
  }
}

void word_segments(std::string_view text, std::vector<uint32_t>& out) {
  constexpr size_t kBatch = 64;
  sz_size_t starts[kBatch], lengths[kBatch];
  out.clear();
  while (!text.empty()) {
    sz_size_t consumed = 0;
    const sz_size_t n =
        sz_utf8_wordbreaks_serial(text.data(), text.size(), starts, lengths, kBatch, &consumed);
    for (size_t i = 0; i < n; ++i) out.push_back(static_cast<uint32_t>(lengths[i]));
    if (n == 0 || consumed == 0) break;
    text.remove_prefix(consumed);
  }
}

}  // namespace scrubjay::text
