// How a write through a view changes the viewed tensor: the rules that views' rows name (WriteFn). C++20.
#pragma once
#include "compiler/ir/builder.h"

namespace wick::compiler::writes {

Value* as_strided(Builder& b, const Args& view, Value* before, Value* after);
Value* conjugate(Builder& b, const Args& view, Value* before, Value* after);
Value* diagonal(Builder& b, const Args& view, Value* before, Value* after);
Value* dtype(Builder& b, const Args& view, Value* before, Value* after);
Value* expand(Builder& b, const Args& view, Value* before, Value* after);
Value* permute(Builder& b, const Args& view, Value* before, Value* after);
Value* select(Builder& b, const Args& view, Value* before, Value* after);
Value* slice(Builder& b, const Args& view, Value* before, Value* after);
Value* unfold(Builder& b, const Args& view, Value* before, Value* after);
Value* view(Builder& b, const Args& view, Value* before, Value* after);
Value* view_as_complex(Builder& b, const Args& view, Value* before, Value* after);
Value* view_as_real(Builder& b, const Args& view, Value* before, Value* after);

}  // namespace wick::compiler::writes
