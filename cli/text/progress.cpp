#include "cli/text/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace wick::cli {

std::string progress_line(std::string_view title, std::string_view step, size_t done, size_t all, double elapsed_s) {
  std::string line = fmt::format("{}: {}, {:.0f} s", title, step, elapsed_s);
  if (done > 0 && done < all) {
    const double left_s = elapsed_s / static_cast<double>(done) * static_cast<double>(all - done);
    line += fmt::format(", about {:.0f} s left", left_s);
  }
  return line;
}

Progress::Progress(std::string title) : title_(std::move(title)) {
  if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { draw_until_stopped(); });
}

void Progress::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::update(std::string_view step, size_t done, size_t all) {
  if (!thread_.joinable()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  step_ = step;
  done_ = done;
  all_ = all;
}

void Progress::draw_until_stopped() {
  std::unique_lock<std::mutex> lock(mutex_);
  size_t width = 0;
  auto wait = std::chrono::milliseconds(1000);
  while (!wake_.wait_for(lock, wait, [this] { return stopped_; })) {
    wait = std::chrono::milliseconds(250);
    const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const std::string line = progress_line(title_, step_, done_, all_, elapsed_s);
    fmt::print(stderr, "\r{:<{}}", line, width);
    std::fflush(stderr);
    width = line.size();
  }
  if (width > 0) fmt::print(stderr, "\r{:<{}}\r", "", width);
}

}  // namespace wick::cli
