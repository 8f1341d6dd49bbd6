#include "distributed/wire.h"

namespace frazil::distributed {

Exchange::~Exchange() {
  if (done_ == messages_.size()) return;
  // MPI may write there for as long as the process lives.
  for (std::unique_ptr<char[]>& buffer : buffers_) (void)buffer.release();
}

char* Exchange::Buffer(int64_t bytes) {
  buffers_.emplace_back(new char[static_cast<size_t>(bytes)]);
  return buffers_.back().get();
}

Status Exchange::Send(const char* bytes, int64_t count, int to, int tag) {
  messages_.push_back({.rank = to});
  return TheMpi()->Send(bytes, count, to, tag, &messages_.back().request);
}

StatusOr<size_t> Exchange::Receive(char* bytes, int64_t count, int from, int tag) {
  messages_.push_back({.rank = from});
  FZ_RETURN_IF_ERROR(TheMpi()->Receive(bytes, count, from, tag, &messages_.back().request));
  return messages_.size() - 1;
}

Status Exchange::AllReduce(const char* x, char* out, int64_t count, DType dtype) {
  messages_.push_back({.rank = -1});
  return TheMpi()->AllReduce(x, out, count, dtype, &messages_.back().request);
}

Status Exchange::ReduceScatter(const char* x, char* out, int64_t count, DType dtype) {
  messages_.push_back({.rank = -1});
  return TheMpi()->ReduceScatter(x, out, count, dtype, &messages_.back().request);
}

StatusOr<bool> Exchange::Came(size_t number) {
  Message& m = messages_[number];
  if (m.done) return true;
  FZ_ASSIGN_OR_RETURN(m.done, TheMpi()->Test(&m.request));
  done_ += m.done;
  return m.done;
}

StatusOr<bool> Exchange::AllCame() {
  for (; all_below_ < messages_.size(); ++all_below_) {
    FZ_ASSIGN_OR_RETURN(const bool came, Came(all_below_));
    if (!came) return false;
  }
  return true;
}

std::vector<int> Exchange::Open() const {
  std::vector<int> ranks;
  for (const Message& m : messages_) {
    if (!m.done && m.rank >= 0) ranks.push_back(m.rank);
  }
  return ranks;
}

}  // namespace frazil::distributed
