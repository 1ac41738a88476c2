// A header that one of them alone includes.
#pragma once

namespace sample {

class Declared;

int half(const sample::Declared& x);
int quarter(const Declared& x);

}  // namespace sample
