#include "devices/runner/stream.h"

namespace wick::device {

void Reader::bytes(void* out, size_t size_bytes) {
  uint8_t* to = static_cast<uint8_t*>(out);
  position_ += size_bytes;
  while (size_bytes != 0 && ok_) {
    if (begin_ == end_) {
      if (size_bytes >= sizeof buffer_) {
        ok_ = board::read_all(file_, to, size_bytes);
        return;
      }
      begin_ = 0;
      end_ = board::read_some(file_, buffer_, sizeof buffer_);
      ok_ = end_ != 0;
      continue;
    }
    const size_t count = size_bytes < end_ - begin_ ? size_bytes : end_ - begin_;
    memcpy(to, buffer_ + begin_, count);
    begin_ += count;
    to += count;
    size_bytes -= count;
  }
  if (!ok_) memset(to, 0, size_bytes);
}

void Reader::skip_to(uint64_t position) {
  uint8_t dropped[64];
  while (ok_ && position_ < position) {
    const uint64_t left = position - position_;
    bytes(dropped, left < sizeof dropped ? static_cast<size_t>(left) : sizeof dropped);
  }
}

void Reader::string(char* out, size_t capacity) {
  const uint32_t size_bytes = u32();
  if (size_bytes >= capacity) ok_ = false;
  if (ok_) bytes(out, size_bytes);
  out[ok_ ? size_bytes : 0] = '\0';
}

void Writer::bytes(const void* data, size_t size_bytes) {
  if (size_bytes > sizeof buffer_ - used_) flush();
  if (size_bytes >= sizeof buffer_) {
    board::write_all(file_, data, size_bytes);
    return;
  }
  memcpy(buffer_ + used_, data, size_bytes);
  used_ += size_bytes;
}

void Writer::flush() {
  if (used_ != 0) board::write_all(file_, buffer_, used_);
  used_ = 0;
}

}  // namespace wick::device
