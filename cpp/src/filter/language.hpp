// Language: {"category": {"$in": [...]}} to a predicate.
//
//     filter     {field: condition, "$and": [filter...], "$or": [filter...], "$not": filter}   all of them
//     condition  value  |  {operator: operand, ...}                                            all of them
//     operator   $eq $ne $gt $gte $lt $lte (value), $in $nin (list of values), $exists (bool),
//                $contains (text), $not ({operator: operand, ...})
//
// $in admits a list that holds one of its texts, too. The fields created_at and expires_at are compared with
// times: a time, an ISO 8601 text, or seconds since 1970.
#pragma once

#include <memory>

#include "filter/predicate.hpp"
#include "filter/value.hpp"

namespace scrubjay::filter {

// Throws base::WrongType and base::InvalidArgument: the message names the field, what was expected and what
// was given (and holds the field's bytes as they are). Nested more than 60 levels deep is an error as well.
[[nodiscard]] std::shared_ptr<const Predicate> compile(const Value& filter);

}  // namespace scrubjay::filter
