#include "compiler/ir/graph.h"
#include "compiler/ir/literal.h"

namespace wick::compiler {

Arg::Arg() : variant(None{}) {}
Arg::Arg(None v) : variant(v) {}
Arg::Arg(Value* v) : variant(v) {}
Arg::Arg(Values v) : variant(std::move(v)) {}
Arg::Arg(Sym v) : variant(std::move(v)) {}
Arg::Arg(int v) : variant(Sym(v)) {}
Arg::Arg(int64_t v) : variant(Sym(v)) {}
Arg::Arg(Ints v) : variant(std::move(v)) {}
Arg::Arg(double v) : variant(v) {}
Arg::Arg(Reals v) : variant(std::move(v)) {}
Arg::Arg(bool v) : variant(v) {}
Arg::Arg(Bools v) : variant(std::move(v)) {}
Arg::Arg(std::string v) : variant(std::move(v)) {}
Arg::Arg(const char* v) : variant(std::string(v)) {}
Arg::Arg(DType v) : variant(v) {}
Arg::Arg(const Arg& other) = default;
Arg::Arg(Arg&& other) noexcept = default;
Arg& Arg::operator=(const Arg& other) = default;
Arg& Arg::operator=(Arg&& other) noexcept = default;
Arg::~Arg() = default;
bool operator==(const Arg& a, const Arg& b) {
  return static_cast<const Arg::variant&>(a) == static_cast<const Arg::variant&>(b);
}

Args::Args() = default;
Args::Args(std::initializer_list<Arg> args) : vector(args) {}
Args::Args(const_iterator first, const_iterator last) : vector(first, last) {}
Args::Args(const Args& other) = default;
Args::Args(Args&& other) noexcept = default;
Args& Args::operator=(const Args& other) = default;
Args& Args::operator=(Args&& other) noexcept = default;
Args::~Args() = default;
void Args::push_back(Arg arg) { vector::push_back(std::move(arg)); }

std::optional<double> literal(const Arg& arg) {
  if (arg.is<double>()) return arg.as<double>();
  if (arg.is<bool>()) return arg.as<bool>() ? 1.0 : 0.0;
  if (arg.is<Sym>() && arg.as<Sym>().is_const()) return static_cast<double>(arg.as<Sym>().value());
  return std::nullopt;
}

}  // namespace wick::compiler
