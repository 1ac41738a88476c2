// Where the rest of the repository finds the table of all portable kernels.
#pragma once
#include "wick/portable_kernels.h"
