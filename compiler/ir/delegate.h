// Delegate: the bytes that a backend makes of a partition for its runtime half, and the origins of the nodes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// The operator that stands for a delegate: inputs, index into Graph::delegates -> results.
inline constexpr char kCallDelegate[] = "wick.call_delegate.default";
/// The same for a delegate that holds mutable buffers. Each call runs it once; such delegates run in the order of the
/// graph.
inline constexpr char kCallStatefulDelegate[] = "wick.call_delegate.stateful";
inline bool is_delegate_call(const Node& node) { return node.is(kCallDelegate) || node.is(kCallStatefulDelegate); }

/// Bytes that a payload refers to by key. They go to the program's named data, where equal bytes are stored once.
struct NamedConstant {
  std::string key;
  ConstantData data;
  uint32_t alignment = 16;
  bool is_code = false;  // code for a device, not data of the model
};

/// A key and value that the backend's runtime half receives at load, like the compile specs of stock.
struct DelegateSpec {
  std::string key;
  std::vector<uint8_t> value;
};

/// A device, or the host.
struct DeviceTag {
  uint8_t type = 0;  // DeviceType of schema/program.fbs; 0: the host
  std::string name;  // value of the delegates' compile spec `target_device`; "" for the host
  bool is_host() const { return type == 0; }
  bool operator==(const DeviceTag&) const = default;
};

/// One delegate as it goes into the program.
struct Delegate {
  std::string id;  // id of the backend at run time
  std::vector<uint8_t> payload;
  std::vector<NamedConstant> constants;
  std::vector<DelegateSpec> specs;
  /// The device in whose memory arguments may lie that only its delegates read and write. Set by the partitioner.
  DeviceTag device;
  /// Where the nodes of the payload come from: index = debug handle in the payload.
  std::vector<OriginPtr> origins;
  size_t num_nodes = 0;            // in the payload
  std::vector<std::string> notes;  // for the user
  /// A call draws from the random state of the method, in the order in which its nodes would. Set by the partitioner.
  bool draws_random = false;
  /// Data that the target keeps for Target::write_files and Target::report. Nobody else reads it.
  std::shared_ptr<const void> kept;
  /// Which node of the model made each output; set by the partitioner.
  std::vector<OriginPtr> output_origins;
};

}  // namespace wick::compiler
