// Which version of Wick this is: CMakeLists.txt reads it here.
#pragma once

namespace wick {

constexpr char kVersion[] = "0.1.0";

}  // namespace wick
