// ScoreParts: the parts of a hit's score, which is their sum up to rounding.
#pragma once

namespace scrubjay::fusion {

struct ScoreParts {
  double words = 0.0;      // the lexical arm, as weighted by the fusion; alone: BM25
  double meaning = 0.0;    // the vector arm, as weighted by the fusion; alone: the similarity
  double rankings = 0.0;   // the caller's rankings
  double guarantee = 0.0;  // what raises it among the first hits (guarantee.hpp)
  double dates = 0.0;      // the date signal
  double scaling = 0.0;    // the offset of scaling the sum so far to 0..1, the same for all hits
  double coverage = 0.0, recency = 0.0, entities = 0.0, prior = 0.0;  // signals
  double identifier = 0.0;                                            // the bonus of the identifier tier

  // Rescales a score to (score - least) / width; 1 if all scores are equal (width 0).
  void scale(double score, double least, double width) noexcept {
    if (!(width > 0.0)) {
      scaling = 1.0 - score;
      return;
    }
    words /= width;
    meaning /= width;
    rankings /= width;
    guarantee /= width;
    dates /= width;
    scaling = -least / width;
  }
  [[nodiscard]] double sum() const noexcept {
    return words + meaning + rankings + guarantee + dates + scaling + coverage + recency + entities + prior +
           identifier;
  }
};

}  // namespace scrubjay::fusion
