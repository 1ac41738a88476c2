#include "compiler/import/program/exported_program.h"

namespace wick::compiler::pt2 {

Argument::Argument() = default;
Argument::Argument(const Argument& other) = default;
Argument::Argument(Argument&& other) noexcept = default;
Argument& Argument::operator=(const Argument& other) = default;
Argument& Argument::operator=(Argument&& other) noexcept = default;
Argument::~Argument() = default;

Node::Node() = default;
Node::Node(const Node& other) = default;
Node::Node(Node&& other) noexcept = default;
Node& Node::operator=(const Node& other) = default;
Node& Node::operator=(Node&& other) noexcept = default;
Node::~Node() = default;

Graph::Graph() = default;
Graph::Graph(const Graph& other) = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(const Graph& other) = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
Graph::~Graph() = default;

ExportedProgram::ExportedProgram() = default;
ExportedProgram::ExportedProgram(ExportedProgram&& other) noexcept = default;
ExportedProgram& ExportedProgram::operator=(ExportedProgram&& other) noexcept = default;
ExportedProgram::~ExportedProgram() = default;

}  // namespace wick::compiler::pt2
