// What a backend makes of a partition: bytes for its runtime half, and where their nodes come from.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The operator that stands for a delegate: inputs, index into Graph::delegates -> results.
inline constexpr char kCallDelegate[] = "wick.call_delegate.default";
/// The same for a delegate that holds mutable buffers: it runs once in each call, and after the earlier ones.
inline constexpr char kCallStatefulDelegate[] = "wick.call_delegate.stateful";
inline bool is_delegate_call(const Node& node) { return node.is(kCallDelegate) || node.is(kCallStatefulDelegate); }

/// Bytes that a payload refers to by key. They go to the program's named data, where equal bytes are stored once.
struct NamedConstant {
  std::string key;
  ConstantData data;
  uint32_t alignment = 16;
  bool is_code = false;  // for a device: no data of the model
};

/// A fact that the backend's runtime half is told at load, like stock's compile specs.
struct DelegateSpec {
  std::string key;
  std::vector<uint8_t> value;
};

/// A device, or the host.
struct DeviceTag {
  uint8_t type = 0;  // DeviceType of schema/program.fbs; 0: the host
  std::string name;  // what the delegates' compile spec `target_device` says, "" for the host
  bool is_host() const { return type == 0; }
  bool operator==(const DeviceTag&) const = default;
};

/// One delegate as it goes into the program.
struct Delegate {
  std::string id;  // of the backend at run time
  std::vector<uint8_t> payload;
  std::vector<NamedConstant> constants;
  std::vector<DelegateSpec> specs;
  /// Where arguments may lie that only delegates of this device read and write. Set by the partitioner.
  DeviceTag device;
  /// Where the nodes of the payload come from: index = debug handle in the payload.
  std::vector<OriginPtr> origins;
  size_t num_nodes = 0;            // of the payload
  std::vector<std::string> notes;  // what the user should know
  /// A call draws from the random numbers of the method, as its nodes would in their order. Set by the partitioner.
  bool draws_random = false;
  /// What the target keeps for Target::write_files and Target::report. Nobody else reads it.
  std::shared_ptr<const void> kept;
  /// Which node of the model made each output; set by the partitioner.
  std::vector<OriginPtr> output_origins;
};

}  // namespace wick::compiler
