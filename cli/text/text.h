// Text for a terminal: when to use colour, readable sizes, pictures drawn with half blocks.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "wick/span.h"

namespace wick::cli {

/// Whether escape sequences may go to `stream`: it is a terminal, NO_COLOR is unset or empty, and TERM is not "dumb".
bool colour_allowed(std::FILE* stream);

/// "512 B", "1.5 KiB", "23.0 MiB": one decimal from 1024 on.
std::string bytes_text(uint64_t bytes);

/// `text` with blanks on the right up to `width` characters; never cut. Counts UTF-8 code points.
std::string pad_right(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

/// Draws `height` x `width` brightness values (0 dark to 1 bright, clamped, NaN is 0), row-major, two pixels per
/// character: the upper and the lower half block. `height` is even. Every row ends with a newline.
///   colour  256-colour greys; without it the characters " ░▒▓█" stand for the mean of the two pixels
/// `pixels` holds height * width values.
std::string half_block_picture(Span<const float> pixels, size_t height, size_t width, bool colour);

}  // namespace wick::cli
