// Code that runs once for many outputs, or for unusual arguments. C++17, freestanding.
#pragma once

/// Of a function: compiled for size, on its own.
#ifdef __clang__
#define WICK_SELDOM __attribute__((noinline, minsize))
#elif defined(__GNUC__)
#define WICK_SELDOM __attribute__((noinline, cold))
#else
#define WICK_SELDOM
#endif
