// Marks code that runs once for many outputs, or only for unusual arguments. C++17, freestanding.
#pragma once

/// Attribute of a function: compile it for size, and do not inline it.
#ifdef __clang__
#define WICK_COLD __attribute__((noinline, minsize))
#elif defined(__GNUC__)
#define WICK_COLD __attribute__((noinline, cold))
#else
#define WICK_COLD
#endif
