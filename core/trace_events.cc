#include "core/trace_events.h"

#include <utility>

#include "core/str.h"
#include "nlohmann/json.hpp"

namespace frazil {

std::string JsonQuote(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TraceEvents::TraceEvents(std::string_view about)
    : out_(StrCat("{\"displayTimeUnit\":\"ns\",\"otherData\":{", about, "},\n\"traceEvents\":[")) {}

void TraceEvents::Begin(char phase, int process, int row) {
  StrAppend(&out_, first_ ? "\n" : ",\n", "{\"ph\":\"", std::string_view(&phase, 1),
            "\",\"pid\":", process, ",\"tid\":", row);
  first_ = false;
}

void TraceEvents::Name(std::string_view what, int process, int row, std::string_view name,
                       int order) {
  Begin('M', process, row);
  StrAppend(&out_, ",\"name\":\"", what, "_name\",\"args\":{\"name\":", JsonQuote(name), "}}");
  Begin('M', process, row);
  StrAppend(&out_, ",\"name\":\"", what, "_sort_index\",\"args\":{\"sort_index\":", order, "}}");
}

void TraceEvents::Span(int process, int row, std::string_view begin, std::string_view length,
                       std::string_view name, std::string_view arguments) {
  Begin('X', process, row);
  StrAppend(&out_, ",\"ts\":", begin, ",\"dur\":", length, ",\"name\":", JsonQuote(name),
            ",\"args\":{", arguments, "}}");
}

void TraceEvents::Counter(int process, std::string_view at, std::string_view name,
                          std::string_view series, std::string_view value) {
  Begin('C', process, 0);
  StrAppend(&out_, ",\"ts\":", at, ",\"name\":", JsonQuote(name), ",\"args\":{", JsonQuote(series),
            ":", value, "}}");
}

void TraceEvents::Arrow(char phase, int process, int row, std::string_view at,
                        std::string_view name, int64_t id) {
  Begin(phase, process, row);
  StrAppend(&out_, ",\"cat\":\"flag\",\"name\":", JsonQuote(name), ",\"id\":", id,
            phase == 'f' ? ",\"bp\":\"e\"" : "", ",\"ts\":", at, "}");
}

std::string TraceEvents::Finish() && {
  out_ += "\n]}\n";
  return std::move(out_);
}

}  // namespace frazil
