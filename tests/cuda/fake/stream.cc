#include "tests/cuda/fake/stream.h"

#include <algorithm>

namespace fake {

std::shared_ptr<Stream> FindStream(CUstream handle) {
  Context* const context = Driver::Get().current();
  if (handle == nullptr || handle == kLegacyStream) return context->legacy;
  if (handle == kPerThreadStream) return context->per_thread;
  return Driver::Get().streams.Get(handle);
}

namespace {

// Blocking streams of a context, but for the legacy one.
template <typename F>
void ForEachBlocking(Context* context, F f) {
  f(*context->per_thread);
  Driver::Get().streams.ForEach([&](Stream& stream) {
    if (stream.blocking && stream.context == context) f(stream);
  });
}

}  // namespace

OpRef Append(Stream* stream, std::vector<OpRef> needs, std::function<void()> run) {
  needs.push_back(stream->tail);
  const bool legacy = stream == stream->context->legacy.get();
  if (legacy) ForEachBlocking(stream->context, [&](Stream& other) { needs.push_back(other.tail); });
  stream->tail = Driver::Get().work.Add(std::move(needs), std::move(run));
  if (legacy) ForEachBlocking(stream->context, [&](Stream& other) { other.tail = stream->tail; });
  return stream->tail;
}

void AppendNode(Stream* stream, Node node) {
  node.needs = stream->nodes;
  node.context = stream->context;
  stream->nodes = {stream->capture->graph->Add(std::move(node))};
}

std::function<void()> InContext(Context* context, Action action) {
  return [context, action = std::move(action)] {
    if (context->error == kSuccess) context->error = action();
  };
}

CUresult Enqueue(CUstream handle, Action action) {
  const auto stream = FindStream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return kCaptureInvalidated;
    Node node;
    node.action = std::move(action);
    AppendNode(stream.get(), std::move(node));
    return kSuccess;
  }
  if (stream == stream->context->legacy) {
    bool captured = false;
    ForEachBlocking(stream->context, [&](Stream& other) {
      if (other.capture == nullptr) return;
      captured = other.capture->invalid = true;
    });
    if (captured) return kCaptureImplicit;
  }
  Append(stream.get(), {}, InContext(stream->context, std::move(action)));
  return kSuccess;
}

CUresult CheckNotCapturing() {
  bool captured = false;
  Driver::Get().streams.ForEach([&](Stream& stream) {
    if (stream.capture == nullptr || stream.capture->thread != std::this_thread::get_id()) return;
    captured = stream.capture->invalid = true;
  });
  return captured ? kCaptureUnsupported : kSuccess;
}

}  // namespace fake
