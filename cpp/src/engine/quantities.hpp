// Quantities: terms that look like identifiers but are measures, years or ranges.
//
//  - a number of one or two digits, a year: 12, 2023
//  - a measure, an ordinal: 400mg, 0.5ml, 24-h, 5k, 18th (the list of units is in the source file)
//  - a number of up to three digits before a word of at least three letters: 30-day, 3-kinase, 30day
//  - a word of at least five letters before a number of one or two digits without a leading zero:
//    interleukin-2, covid-19, interleukin2
//  - a fraction, or a range of numbers of up to three digits or of years: 1/2, 18-25, 2019-2021
#pragma once

#include <string_view>

namespace scrubjay::engine {

// `term` is case-folded; letters are a to z and all non-ASCII characters.
[[nodiscard]] bool is_quantity(std::string_view term) noexcept;

}  // namespace scrubjay::engine
