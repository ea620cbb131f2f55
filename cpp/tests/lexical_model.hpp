// Shared code of lexical tests: random collections, as posting tables and as plain lists, and a plain
// implementation of the documented formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/bitmap.hpp"
#include "lexical/bm25.hpp"
#include "lexical/posting.hpp"
#include "lexical/posting_table.hpp"
#include "lexical/pruned.hpp"
#include "lexical/search.hpp"
#include "text/term_key.hpp"

namespace scrubjay::lexical_model {

using namespace scrubjay::lexical;

struct Document {
  std::map<uint32_t, uint32_t> tfs;  // by term number
  uint32_t length = 0;
  bool dead = false;
};

inline std::string term_of(uint32_t t) {
  return t % 3 == 0 ? "a-long-term-" + std::to_string(t) : "t" + std::to_string(t);
}

// Some chunks of documents, as posting tables and as plain lists.
struct Collection {
  std::vector<std::vector<Document>> chunks;
  std::vector<std::unique_ptr<PostingTable>> tables;
  std::vector<std::unique_ptr<base::Bitmap>> dead;
  Statistics statistics;
  uint32_t max_length_code = 0;

  // `max_docs`: per chunk; 0: random, usually few.
  Collection(std::mt19937& random, uint32_t n_terms, uint32_t max_docs = 0) : chunks(1 + random() % 4) {
    if (max_docs == 0) max_docs = random() % 4 == 0 ? 400 : 40;
    const uint32_t length_scale = random() % 5 == 0 ? 3000 : 12;
    const uint32_t death = 2 + random() % 8;
    for (std::vector<Document>& documents : chunks) {
      documents.resize(random() % max_docs);
      auto& table = tables.emplace_back(std::make_unique<PostingTable>());
      dead.push_back(std::make_unique<base::Bitmap>(static_cast<uint32_t>(documents.size())));
      for (size_t offset = 0; offset < documents.size(); ++offset) {
        Document& document = documents[offset];
        for (uint32_t i = random() % 8; i > 0; --i)
          document.tfs[std::min(random() % n_terms, random() % n_terms)] += 1 + random() % 3;
        for (const auto& [t, tf] : document.tfs) document.length += tf;
        document.length += random() % length_scale;
        max_length_code = std::max(max_length_code, encode_length(document.length));
        for (const auto& [t, tf] : document.tfs) {
          const std::string term = term_of(t);
          table->append(text::term_key(term), term, static_cast<uint16_t>(offset),
                        pack_payload(tf, encode_length(document.length)), dead.back().get());
        }
        if (random() % death == 0) {
          for (const auto& [t, tf] : document.tfs)
            table->count_dead(text::term_key(term_of(t)), term_of(t), static_cast<uint16_t>(offset));
          dead.back()->set(static_cast<uint32_t>(offset));
          document.dead = true;
        } else {
          ++statistics.n_docs;
          statistics.total_length += decode_length(encode_length(document.length));
        }
      }
    }
  }
};

// A plain implementation of the documented formula.
struct PlainBm25 {
  double k1, b, average;
  unsigned bits = 20;
  std::vector<float> weights;

  PlainBm25(const Bm25Parameters& parameters, const Statistics& statistics, const std::vector<uint64_t>& dfs,
            const std::vector<uint32_t>& counts)
      : k1(parameters.k1),
        b(parameters.b),
        average(statistics.n_docs ? double(statistics.total_length) / double(statistics.n_docs) : 0.0) {
    std::vector<double> idfs;
    double total = 0.0;
    for (size_t t = 0; t < dfs.size(); ++t) {
      const double n = static_cast<double>(statistics.n_docs), df = static_cast<double>(dfs[t]);
      idfs.push_back(df == 0.0 ? 0.0 : std::log(1.0 + (n - df + 0.5) / (df + 0.5)));
      total += counts[t] * idfs.back();
    }
    while (total * std::pow(2.0, bits) >= std::pow(2.0, 30.0)) --bits;
    for (const double value : idfs) weights.push_back(static_cast<float>(value * std::pow(2.0, bits)));
  }
  [[nodiscard]] uint32_t contribution(size_t t, uint32_t tf, uint32_t length) const {
    const double ratio = average > 0.0 ? decode_length(encode_length(length)) / average : 0.0;
    const float norm = static_cast<float>(k1 * ((1.0 - b) + b * ratio)),
                frequency = static_cast<float>(std::min(tf, 31u));
    const float product = weights[t] * frequency, sum = frequency + norm;
    return std::max(1u, static_cast<uint32_t>(std::lrint(product / sum)));
  }
};

}  // namespace scrubjay::lexical_model
