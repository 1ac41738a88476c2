// Mutable buffers that methods of a program share.
#pragma once
#include <string>
#include <vector>

namespace wick::compiler {

class JsonWriter;
struct MethodPlan;

/// A mutable buffer that a method shares with others.
struct SharedState {
  std::string name;    // in the model
  std::string memory;  // one name for each memory of the program
  std::string owner;   // the first method that has it
};

/// Moves the shared states of all methods into one arena. Those of one memory become one; they have the same type. Call
/// it before plan_memory.
void share_states(std::vector<MethodPlan>& methods);

/// "'a', 'b', 'c', 'd' and 3 more".
std::string list_of_names(const std::vector<std::string>& names);
/// "method 'b' uses the state 'cache' of method 'a'": a line for each other method whose states `method` uses. Long
/// lists of names are cut.
std::vector<std::string> sharing_text(const std::string& method, const std::vector<SharedState>& shared);
/// Key "shared_states" of the current object: name and owner of each.
void write_shared_states(const std::vector<SharedState>& shared, JsonWriter& json);

}  // namespace wick::compiler
