// Diagnostics: what is wrong, where in the user's model, found, wanted, a way out.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wick::compiler {

/// Stable names of what can go wrong; docs/errors.md explains each, the text in brackets after "error" is code_name().
enum class Code {
  usage,              // exit 2: a wrong flag, a missing file, inputs that do not fit
  file_io,            // exit 2: a file cannot be opened, read or written
  unsupported_op,     // exit 3
  unsupported_model,  // exit 3: a construct, dtype, layout, version .. outside what Wick compiles
  corrupt_file,       // exit 4
  incompatible_file,  // exit 4: another format, or a version that this build does not read
  execution,          // exit 4: a check failed while running a program
  numeric_mismatch,   // exit 5
  budget,             // exit 6: --max-arena, --max-file, --require-..
  limit,              // exit 3: a size limit with an option to raise it
  missing_tool,       // exit 3: a compiler or library outside Wick that the task needs is not here
  internal,           // exit 1: a bug of ours
};

const char* code_name(Code code);
/// The process exit code a diagnostic leads to.
int exit_code(Code code);

/// A place in the user's model; empty fields are unknown.
struct Where {
  std::string file;    // the file given to Wick
  std::string module;  // module path, "encoder.attn"
  std::string source;  // "model.py:118"
  std::string node;    // node name in the graph
};

struct Diag {
  Code code = Code::internal;
  std::string message;  // one line, no trailing period
  Where where;
  std::string found, wanted, help;
  std::vector<std::string> notes;

  Diag();
  Diag(Code c, std::string m);
  Diag(const Diag& other);
  Diag(Diag&& other) noexcept;
  Diag& operator=(const Diag& other);
  Diag& operator=(Diag&& other) noexcept;
  ~Diag();

  Diag&& in(Where w) &&;
  Diag&& at_file(std::string f) &&;
  Diag&& expected(std::string f, std::string w) &&;
  Diag&& with_help(std::string h) &&;
  Diag&& note(std::string n) &&;
};

/// The text a user sees: "error[code]: message", then "  at", "  found", "  wanted", "  help", "  note" lines; each
/// line ends with a newline. Control characters and invalid UTF-8 from files are escaped.
std::string render(const Diag& diag);

/// `text` with control and direction-changing characters, quotes, backslashes and invalid UTF-8 escaped, cut to about
/// `max_chars` characters (then it ends with "..."): for names that come from files.
std::string printable(std::string_view text, size_t max_chars = 200);

/// The same for our own sentences that contain names from files: quotes and backslashes stay.
std::string printable_sentence(std::string_view text, size_t max_chars = 200);

}  // namespace wick::compiler
