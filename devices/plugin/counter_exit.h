// How the instruction counter ends QEMU.
#pragma once

namespace wick::device {

/// A request took more instructions than allowed.
constexpr int kOverBudgetStatus = 125;

}  // namespace wick::device
