// The version of Wick. CMakeLists.txt reads it from this file.
#pragma once

namespace wick {

constexpr char kVersion[] = "0.1.0";

}  // namespace wick
