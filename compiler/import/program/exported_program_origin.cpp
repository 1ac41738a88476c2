#include <algorithm>
#include <charconv>
#include <string>

#include "compiler/import/program/exported_program_reader.h"

namespace wick::compiler::pt2 {
namespace {

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Takes the first line off `text`.
std::string_view next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

struct Frame {
  std::string_view file;
  int64_t line = 0;
  std::string_view code;
};

// `File "f", line N, in fn`
bool parse_frame(std::string_view line, Frame* frame) {
  constexpr std::string_view kOpen = "File \"", kLine = "\", line ";
  if (line.substr(0, kOpen.size()) != kOpen) return false;
  const size_t middle = line.find(kLine, kOpen.size());
  if (middle == std::string_view::npos) return false;
  const std::string_view number = line.substr(middle + kLine.size());
  const auto result = std::from_chars(number.data(), number.data() + number.size(), frame->line);
  if (result.ec != std::errc() || frame->line < 0) return false;
  frame->file = line.substr(kOpen.size(), middle - kOpen.size());
  frame->code = {};
  return true;
}

// Packages that trace or quantize models, in the folder that pip installs to. Everything else in that folder may be a
// model.
constexpr std::string_view kTorchPackages[] = {"torch/",    "torchao/",         "functorch/",
                                               "torchgen/", "executorch/exir/", "executorch/backends/"};
// Outside that folder (a source tree, an archive): paths that only torch's own files have, in contrast to a user's
// folder of the same name.
constexpr std::string_view kTorchFiles[] = {"torch/_",        "torch/nn/modules/",   "torch/nn/functional.py",
                                            "torch/ao/",      "torch/fx/",           "torch/export/",
                                            "torch/utils/_",  "torch/jit/_",         "torch/autograd/",
                                            "torch/library/", "torch/functional.py", "torchao/quantization/"};

// Is this one of torch's own files, or code that torch has generated?
bool is_inside_torch(std::string_view file) {
  if (file.find("<eval_with_key>") != std::string_view::npos) return true;
  std::string path = "/";
  for (const char c : file) path += c == '\\' ? '/' : c;
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = path.rfind(folder);
    if (at == std::string::npos) continue;
    const std::string_view inside = std::string_view(path).substr(at + folder.size());
    return std::any_of(std::begin(kTorchPackages), std::end(kTorchPackages),
                       [&](std::string_view package) { return inside.starts_with(package); });
  }
  return std::any_of(std::begin(kTorchFiles), std::end(kTorchFiles),
                     [&](std::string_view start) { return path.find("/" + std::string(start)) != std::string::npos; });
}

// The innermost frame that is not torch's. Without a file if there is none.
Frame user_frame(std::string_view trace) {
  Frame user, current;
  bool open = false;
  const auto close = [&] {
    if (open && !is_inside_torch(current.file)) user = current;
  };
  while (!trace.empty()) {
    const std::string_view line = trim(next_line(trace));
    Frame frame;
    if (parse_frame(line, &frame)) {
      close();
      current = frame;
      open = true;
    } else if (open && current.code.empty()) {
      current.code = line;
    }
  }
  close();
  return user;
}

// Splits the innermost "key,path,type" item at commas outside brackets; false unless there are exactly three parts.
bool innermost_module(std::string_view stack, std::string_view (&parts)[3]) {
  const std::string_view item = stack.substr(stack.rfind(';') + 1);  // npos + 1 is 0
  size_t count = 0, start = 0;
  int depth = 0;
  for (size_t i = 0; i <= item.size(); ++i) {
    const char c = i < item.size() ? item[i] : ',';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (i < item.size() && (c != ',' || depth > 0)) continue;
    if (count == 3) return false;
    parts[count++] = item.substr(start, i - start);
    start = i + 1;
  }
  return count == 3;
}

}  // namespace

std::string Origin::source() const {
  if (file.empty()) return {};
  const size_t slash = file.find_last_of("/\\");
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return line > 0 ? name + ":" + std::to_string(line) : name;
}

Origin read_origin(std::string_view nn_module_stack, std::string_view stack_trace) {
  Origin origin;
  std::string_view parts[3];
  if (innermost_module(nn_module_stack, parts)) {
    origin.module_path = parts[1];
    origin.module_class = parts[2];
  }
  const Frame frame = user_frame(stack_trace);
  origin.file = frame.file;
  origin.line = frame.line;
  origin.code = frame.code;
  return origin;
}

}  // namespace wick::compiler::pt2
