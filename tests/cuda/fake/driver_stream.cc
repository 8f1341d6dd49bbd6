// The fake driver: streams, events, capture.
#include <algorithm>

#include "tests/cuda/fake/stream.h"

namespace fake {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  FAKE_CALL(kContext, cuStreamCreate, flags);
  if (flags & ~kStreamNonBlocking) return kInvalidValue;
  Context* const context = Driver::Get().current();
  auto made = std::make_shared<Stream>(context, (flags & kStreamNonBlocking) == 0);
  if (made->blocking) made->tail = context->legacy->tail;
  *stream = Driver::Get().streams.Add(std::move(made));
  return kSuccess;
}

CUresult cuStreamSynchronize(CUstream stream) {
  FAKE_CALL(kContext, cuStreamSynchronize, stream);
  const auto real = FindStream(stream);
  if (real == nullptr) return kInvalidHandle;
  if (real->capture != nullptr) {
    real->capture->invalid = true;
    return kCaptureUnsupported;
  }
  if (real == real->context->legacy) Append(real.get(), {}, nullptr);
  if (real->tail != nullptr) Driver::Get().work.Finish(real->tail);
  return real->context->error;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  FAKE_CALL(kContext, cuStreamWaitEvent, stream, event, flags);
  const auto real = FindStream(stream);
  const auto what = Driver::Get().events.Get(event);
  if (real == nullptr || what == nullptr) return kInvalidHandle;
  if (what->capture == nullptr) {
    if (real->capture != nullptr) {
      // A graph cannot wait for what happens outside of it.
      real->capture->invalid = true;
      return kCaptureUnsupported;
    }
    Append(real.get(), {what->op}, nullptr);
    return kSuccess;
  }
  if (what->capture->ended) return kInvalidValue;
  if (real->capture != nullptr && real->capture != what->capture) {
    real->capture->invalid = what->capture->invalid = true;
    return kCaptureUnsupported;
  }
  if (real == real->context->legacy) {
    what->capture->invalid = true;
    return kCaptureImplicit;
  }
  real->capture = what->capture;
  for (CUgraphNode node : what->nodes) {
    if (std::find(real->nodes.begin(), real->nodes.end(), node) == real->nodes.end())
      real->nodes.push_back(node);
  }
  return kSuccess;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  FAKE_CALL(kContext, cuStreamBeginCapture_v2, stream, mode);
  const auto real = FindStream(stream);
  if (real == nullptr) return kInvalidHandle;
  if (real == real->context->legacy || real->capture != nullptr) return kCaptureUnsupported;
  real->capture = std::make_shared<Capture>();
  real->capture->thread = std::this_thread::get_id();
  real->origin = true;
  real->nodes.clear();
  return kSuccess;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  FAKE_CALL(kContext, cuStreamEndCapture, stream);
  *graph = nullptr;
  const auto real = FindStream(stream);
  if (real == nullptr) return kInvalidHandle;
  if (real->capture == nullptr || !real->origin) return kCaptureUnmatched;
  const auto capture = real->capture;
  // Every node must lead to the last ones of the stream.
  std::vector<CUgraphNode> joined = real->nodes;
  for (size_t i = 0; i < joined.size(); ++i) {
    for (const Node& node : capture->graph->nodes) {
      if (node.handle != joined[i]) continue;
      for (CUgraphNode need : node.needs) {
        if (std::find(joined.begin(), joined.end(), need) == joined.end()) joined.push_back(need);
      }
    }
  }
  const auto end = [&](Stream& other) {
    if (other.capture != capture) return;
    other.capture = nullptr;
    other.origin = false;
    other.nodes.clear();
  };
  Driver::Get().streams.ForEach(end);
  end(*real->context->per_thread);
  capture->ended = true;
  if (capture->invalid) return kCaptureInvalidated;
  if (joined.size() != capture->graph->nodes.size()) return kCaptureUnjoined;
  *graph = Driver::Get().graphs.Add(capture->graph);
  return kSuccess;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  FAKE_CALL(kContext, cuEventCreate, flags);
  *event = Driver::Get().events.Add(
      std::make_shared<Event>(Driver::Get().current(), (flags & kEventDisableTiming) == 0));
  return kSuccess;
}

CUresult cuEventDestroy_v2(CUevent event) {
  FAKE_CALL(kContext, cuEventDestroy_v2, event);
  return Driver::Get().events.Remove(event) ? kSuccess : kInvalidHandle;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  FAKE_CALL(kContext, cuEventRecord, event, stream);
  const auto real = FindStream(stream);
  const auto what = Driver::Get().events.Get(event);
  if (real == nullptr || what == nullptr || real->context != what->context) return kInvalidHandle;
  what->capture = real->capture;
  if (real->capture != nullptr) {
    what->nodes = real->nodes;
    return kSuccess;
  }
  what->op = Append(real.get(), {}, nullptr);
  return kSuccess;
}

CUresult cuEventQuery(CUevent event) {
  FAKE_CALL(kContext, cuEventQuery, event);
  const auto what = Driver::Get().events.Get(event);
  if (what == nullptr) return kInvalidHandle;
  if (what->capture != nullptr) {
    what->capture->invalid = true;
    return kCaptureUnsupported;
  }
  if (what->op == nullptr || what->op->done) return kSuccess;
  Driver::Get().work.Advance(what->op);
  return what->context->error != kSuccess ? what->context->error : kNotReady;
}

CUresult cuEventSynchronize(CUevent event) {
  FAKE_CALL(kContext, cuEventSynchronize, event);
  const auto what = Driver::Get().events.Get(event);
  if (what == nullptr) return kInvalidHandle;
  if (what->capture != nullptr) {
    what->capture->invalid = true;
    return kCaptureUnsupported;
  }
  if (what->op != nullptr) Driver::Get().work.Finish(what->op);
  return what->context->error;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  FAKE_CALL(kContext, cuEventElapsedTime, start, end);
  const auto a = Driver::Get().events.Get(start), b = Driver::Get().events.Get(end);
  if (a == nullptr || b == nullptr || !a->timing || !b->timing) return kInvalidHandle;
  if (a->op == nullptr || b->op == nullptr) return kInvalidHandle;
  if (!a->op->done || !b->op->done) return kNotReady;
  *milliseconds = float(b->op->time - a->op->time);
  return kSuccess;
}

}  // namespace fake
