#include "cli/text/text.h"

#include <unistd.h>

#include <cstdlib>

#include "compiler/support/result.h"

namespace wick::cli {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0';
}

/// Code points of UTF-8 text: bytes that are no continuation.
size_t num_characters(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  return count;
}

std::string blanks_up_to(std::string_view text, size_t width) {
  const size_t used = num_characters(text);
  return std::string(used < width ? width - used : 0, ' ');
}

/// NaN compares false and becomes 0.
float clamp_unit(float value) { return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f; }

/// The 24 greys of the 256-colour palette are 232 to 255.
std::string grey(float value) { return std::to_string(232 + static_cast<int>(clamp_unit(value) * 23.0f + 0.5f)); }

const char* shade(float value) {
  static constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  return kShades[static_cast<int>(clamp_unit(value) * 4.0f + 0.5f)];
}

}  // namespace

bool colour_allowed(std::FILE* stream) {
  if (is_set("NO_COLOR") || !isatty(fileno(stream))) return false;
  const char* term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) != "dumb";
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  for (; value >= 1023.95 && unit < 5; ++unit) value /= 1024.0;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string pad_right(std::string_view text, size_t width) { return std::string(text) + blanks_up_to(text, width); }
std::string pad_left(std::string_view text, size_t width) { return blanks_up_to(text, width) + std::string(text); }

std::string half_block_picture(Span<const float> pixels, size_t height, size_t width, bool colour) {
  WICK_CHECK(height % 2 == 0 && pixels.size() == height * width);
  std::string out;
  for (size_t row = 0; row < height; row += 2) {
    for (size_t column = 0; column < width; ++column) {
      const float upper = pixels[row * width + column], lower = pixels[(row + 1) * width + column];
      if (colour) {
        out += "\x1b[38;5;" + grey(upper) + ";48;5;" + grey(lower) + "m▀";
      } else {
        out += shade((clamp_unit(upper) + clamp_unit(lower)) / 2.0f);
      }
    }
    out += colour ? "\x1b[0m\n" : "\n";
  }
  return out;
}

}  // namespace wick::cli
