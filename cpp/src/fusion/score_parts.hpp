// ScoreParts: the terms of which a hit's score is the sum, up to rounding.
#pragma once

namespace scrubjay::fusion {

struct ScoreParts {
  double words = 0.0;     // the lexical arm, as the fusion weighs it; alone: BM25
  double meaning = 0.0;   // the vector arm, as the fusion weighs it; alone: the similarity
  double rankings = 0.0;  // the caller's rankings
  double dates = 0.0;     // the date signal
  double scaling = 0.0;   // what scaling the sum so far to 0..1 adds, the same for all hits
  double coverage = 0.0, recency = 0.0, entities = 0.0, prior = 0.0;  // signals
  double identifier = 0.0;                                            // what the identifier tier adds

  // Scores become (score - least) / width; where all are equal (a width of 0), 1.
  void scale(double score, double least, double width) noexcept {
    if (!(width > 0.0)) {
      scaling = 1.0 - score;
      return;
    }
    words /= width;
    meaning /= width;
    rankings /= width;
    dates /= width;
    scaling = -least / width;
  }
  [[nodiscard]] double sum() const noexcept {
    return words + meaning + rankings + dates + scaling + coverage + recency + entities + prior + identifier;
  }
};

}  // namespace scrubjay::fusion
