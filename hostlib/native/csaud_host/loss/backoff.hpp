// How long to wait before the same question is asked again.
#pragma once

#include <algorithm>

#include "csaud_host/base/time.hpp"

namespace csaud {

// As many questions may well have been lost in a row, or their answers.
inline constexpr unsigned kLostInARow = 3;

// The wait before the next question, after `rounds` that brought nothing; `longest` at most. Only when more
// went unanswered than may have been lost is it likely that there is nothing to tell.
inline Nanos backed_off(Nanos wait, unsigned rounds, Nanos longest) noexcept {
    for (unsigned i = kLostInARow; i < rounds && wait < longest; ++i) wait *= 2;
    return std::min(wait, std::max(longest, Nanos{1}));
}

}  // namespace csaud
