// A text file of the project as a part of the program. C++17.
#pragma once
#include <stddef.h>

namespace wick {

/// Both live as long as the program. The arrays are written by cmake/embed_text.cmake.
struct TextFile {
  const char* path;  // in the repository
  const char* text;
};

}  // namespace wick
