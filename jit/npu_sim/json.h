// Text as JSON. Called by reports, faults and presets. Invariant: what comes out is one JSON
// string.
#pragma once

#include <string>
#include <string_view>

namespace frazil::npu {

// "text" with quotes around it; a byte that belongs to no UTF-8 character stands for the character
// of its number.
std::string JsonQuote(std::string_view text);

}  // namespace frazil::npu
