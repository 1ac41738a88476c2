#include "cli/size_flags.h"

#include <charconv>

namespace wick::cli {

void SizeFlags::add_to(Command& command) {
  command
      .option(
          "--max-size", texts_,
          "upper bound of the size NAME; without NAME, of every size of an input that was exported without a bound; "
          "may repeat")
      .takes("N|NAME=N")
      .one_at_a_time();
}

compiler::Status SizeFlags::read(compiler::ImportOptions& options) const {
  for (const std::string& text : texts_) {
    const size_t equals = text.rfind('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const char* first = text.data() + (equals == std::string::npos ? 0 : equals + 1);
    const char* end = text.data() + text.size();
    int64_t bound = 0;
    const auto [stop, error] = std::from_chars(first, end, bound);
    if (error != std::errc() || stop != end || bound < 1 || equals == 0) {
      return compiler::Diag(compiler::Code::usage, "--max-size takes N or NAME=N")
          .expected(text, "such as 640 or s53=640");
    }
    options.max_sizes[name] = bound;
  }
  return {};
}

}  // namespace wick::cli
