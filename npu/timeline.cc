#include <algorithm>

#include "core/str.h"
#include "core/trace_events.h"
#include "npu/asm.h"
#include "npu/live_bytes.h"
#include "npu/metrics.h"

namespace frazil::npu {
namespace {

constexpr int kWhyRow = 10;             // thread id of a queue's second row, plus the queue
constexpr int64_t kFileEventsEach = 6;  // of one instruction: itself, why, arrow, counters
constexpr int64_t kBlock = 1000;        // instructions that are kept or left out together

class TimelineWriter {
 public:
  TimelineWriter(const KernelReport& report, const Program& program, int64_t max_events)
      : report_(report),
        program_(program),
        events_(report.timing.events),
        period_(std::max<int64_t>(
            1, (int64_t(events_.size()) * kFileEventsEach + max_events - 1) / max_events)),
        texts_(program.code.size()),
        out_(StrCat("\"note\":", JsonQuote(kHonesty),
                    ",\"model\":\"cycle-approximate\",\"kernel\":", JsonQuote(report_.kernel),
                    ",\"preset\":", JsonQuote(report_.preset.name), ",\"preset_hash\":\"",
                    Hex(Hash(report_.preset)), "\",\"left_out\":", JsonQuote(LeftOut()))) {
    for (const Timed& t : events_) cores_ = std::max(cores_, t.core + 1);
    free_.resize(size_t(cores_));
  }

  std::string Write() {
    Names();
    for (size_t i = 0; i < events_.size(); ++i) One(int64_t(i));
    for (int core = 0; core < cores_; ++core) {
      Live(core, kL1, "L1 live KiB");
      Live(core, kUB, "UB live KiB");
    }
    Rates();
    Waiting();
    return std::move(out_).Finish();
  }

 private:
  bool Kept(int64_t i) const { return i / kBlock % period_ == 0; }
  std::string LeftOut() const {
    if (period_ == 1) return "nothing";
    return StrCat("of every ", period_ * kBlock, " instructions only the first ", kBlock,
                  " are shown: ", events_.size(), " ran");
  }
  std::string Us(int64_t cycles) const {
    return Fixed(double(cycles) / (report_.preset.ghz * 1e3), 5);
  }
  void Names() {
    for (int core = 0; core < cores_; ++core) {
      out_.Name("process", core, 0,
                StrCat("core ", core, " (", report_.preset.name, ", cycle-approximate)"), core);
      for (int q = 0; q < kNumQueues; ++q) {
        const std::string name(npu::Name(Queue(q)));
        out_.Name("thread", core, q, name, 2 * q);
        out_.Name("thread", core, kWhyRow + q, StrCat(name, " waits"), 2 * q + 1);
      }
    }
  }

  const std::string& TextOf(uint32_t pc) {
    static const std::string kNone = "\"?\"";
    if (pc >= texts_.size()) return kNone;
    if (texts_[pc].empty()) texts_[pc] = JsonQuote(Text(program_.code[pc]));
    return texts_[pc];
  }

  void One(int64_t i) {
    const Timed& t = events_[size_t(i)];
    int64_t& free = free_[t.core][t.queue];
    const int64_t since = std::max(free, t.dispatch);
    free = t.free;
    if (!Kept(i)) return;
    std::string arguments =
        StrCat("\"pc\":", t.pc, ",\"text\":", TextOf(t.pc), ",\"dispatch\":", t.dispatch,
               ",\"start\":", t.start, ",\"free\":", t.free, ",\"done\":", t.done);
    if (t.bytes) StrAppend(&arguments, ",\"bytes\":", t.bytes);
    if (const SourceEntry* source = program_.SourceOf(t.pc)) {
      StrAppend(&arguments, ",\"op\":", JsonQuote(source->op));
      if (!source->file.empty())
        StrAppend(&arguments, ",\"place\":", JsonQuote(StrCat(source->file, ":", source->line)));
    }
    out_.Span(t.core, t.queue, Us(t.start), Us(std::max<int64_t>(1, t.free - t.start)),
              Info(t.op).name, arguments);
    if (t.start > since) Why(t, since);
    if (t.op == Op::kWAIT && t.after >= 0 && Kept(t.after)) Arrow(t);
  }

  void Why(const Timed& t, int64_t since) {
    std::string name(npu::Name(t.bound));
    if (t.after >= 0) StrAppend(&name, " ", npu::Name(events_[size_t(t.after)].queue));
    out_.Span(t.core, kWhyRow + t.queue, Us(since), Us(t.start - since), name,
              StrCat("\"pc\":", t.pc));
  }

  void Arrow(const Timed& wait) {
    const Timed& set = events_[size_t(wait.after)];
    const int64_t id = ++arrows_;
    const std::string name = StrCat(npu::Name(set.queue), ">", npu::Name(wait.queue));
    out_.Arrow('s', set.core, set.queue, Us(set.start), name, id);
    out_.Arrow('f', wait.core, wait.queue, Us(wait.start), name, id);
  }

  void Live(int core, Space space, std::string_view name) {
    const auto sums = LiveBytes(report_.timing, space, core);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (Kept(int64_t(i)))
        out_.Counter(core, Us(sums[i].first), name, "KiB", Fixed(double(sums[i].second) / 1024, 2));
    }
  }

  struct Change {
    int64_t cycle;
    int64_t event;  // that it is kept or left out with
    double by;
    bool operator<(const Change& o) const { return cycle < o.cycle; }
  };
  void Steps(std::string_view name, std::string_view series, int core, std::vector<Change> changes,
             int digits) {
    std::stable_sort(changes.begin(), changes.end());
    double now = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      now += changes[i].by;
      const bool last = i + 1 == changes.size() || changes[i + 1].cycle != changes[i].cycle;
      if (last && Kept(changes[i].event))
        out_.Counter(core, Us(changes[i].cycle), name, series, Fixed(std::max(0.0, now), digits));
    }
  }
  void Rates() {
    for (int core = 0; core < cores_; ++core) {
      for (bool write : {false, true}) {
        std::vector<Change> changes;
        for (size_t i = 0; i < events_.size(); ++i) {
          const Timed& t = events_[i];
          if (!t.gm || t.core != core || (t.queue != kLD) != write) continue;
          const double rate = double(t.bytes) / double(std::max<int64_t>(1, t.free - t.start));
          changes.push_back({t.start, int64_t(i), rate});
          changes.push_back({t.free, int64_t(i), -rate});
        }
        Steps(write ? "GM write B/cycle" : "GM read B/cycle", "B/cycle", core, std::move(changes),
              2);
      }
    }
  }
  void Waiting() {
    for (int core = 0; core < cores_; ++core) {
      for (int q = kLD; q < kNumQueues; ++q) {
        std::vector<Change> changes;
        for (size_t i = 0; i < events_.size(); ++i) {
          if (events_[i].core != core || events_[i].queue != q) continue;
          changes.push_back({events_[i].dispatch, int64_t(i), 1});
          changes.push_back({events_[i].start, int64_t(i), -1});
        }
        Steps(StrCat(npu::Name(Queue(q)), " queue"), "waiting", core, std::move(changes), 0);
      }
    }
  }

  const KernelReport& report_;
  const Program& program_;
  const std::vector<Timed>& events_;
  const int64_t period_;
  int cores_ = 1;
  std::vector<std::string> texts_;  // quoted, by pc
  std::vector<std::array<int64_t, kNumQueues>> free_;
  int64_t arrows_ = 0;
  TraceEvents out_;
};

}  // namespace

std::string TimelineJson(const KernelReport& report, const Program& program,
                         const TimelineOptions& options) {
  return TimelineWriter(report, program, std::max<int64_t>(1, options.max_events)).Write();
}

}  // namespace frazil::npu
