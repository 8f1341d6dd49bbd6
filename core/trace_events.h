// Timelines as JSON that Perfetto (https://ui.perfetto.dev) and chrome://tracing open: the Trace
// Event Format. Written by npu/timeline.cc and, for profiles, by bindings/python/profile_module.cc.
// Invariant: names may be any bytes; times are microseconds, as text, in the caller's precision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace frazil {

// A JSON string with its quotes; what is no UTF-8 is replaced.
std::string JsonQuote(std::string_view text);

class TraceEvents {
 public:
  // `about`: members of a JSON object, without its braces.
  explicit TraceEvents(std::string_view about);

  // `what`: "process" or "thread"; `order`: its place among its like.
  void Name(std::string_view what, int process, int row, std::string_view name, int order);
  // `arguments`: members of a JSON object.
  void Span(int process, int row, std::string_view begin, std::string_view length,
            std::string_view name, std::string_view arguments);
  void Counter(int process, std::string_view at, std::string_view name, std::string_view series,
               std::string_view value);
  // From a span that begins then to another: phase 's', later 'f', with the same name and id.
  void Arrow(char phase, int process, int row, std::string_view at, std::string_view name,
             int64_t id);
  std::string Finish() &&;

 private:
  void Begin(char phase, int process, int row);

  bool first_ = true;
  std::string out_;
};

}  // namespace frazil
