// A folder for the files of a test.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace wick::testing {

/// A new folder among the system's temporary ones; it goes with the object. Aborts if it cannot be made.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "wick_test_XXXXXX";  // mkdtemp's placeholder
    if (!mkdtemp(pattern.data())) abort();
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace wick::testing
