// One line on stderr about work that takes more than a second. C++20.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace wick::cli {

/// "compiling: fold_constants, 3 s, about 2 s left"; without an estimate while `done` is 0.
std::string progress_line(std::string_view title, std::string_view step, size_t done, size_t all, double elapsed_s);

/// Appears after the first second, and only if stderr is a terminal. A separate thread redraws the line, so that one
/// long step does not look like a hang. The line is erased at the end.
class Progress {
 public:
  explicit Progress(std::string title);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;

  bool is_shown() const { return thread_.joinable(); }
  /// `done` of about `all` steps are done; `step` comes next.
  void update(std::string_view step, size_t done, size_t all);
  /// Erases the line, before other text is printed. The destructor does it, too.
  void finish();

 private:
  void draw_until_stopped();

  std::string title_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string step_;  // guarded by mutex_, as are the next three
  size_t done_ = 0, all_ = 0;
  bool stopped_ = false;
  std::thread thread_;  // last: it reads the others
};

}  // namespace wick::cli
