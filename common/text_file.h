// A text file of the project, embedded in the program. C++17.
#pragma once
#include <stddef.h>

namespace wick {

/// Both strings live as long as the program. cmake/embed_text.cmake writes the arrays.
struct TextFile {
  const char* path;  // in the repository
  const char* text;
};

}  // namespace wick
