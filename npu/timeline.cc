#include <algorithm>

#include "core/str.h"
#include "nlohmann/json.hpp"
#include "npu/asm.h"
#include "npu/live_bytes.h"
#include "npu/metrics.h"

namespace frazil::npu {
namespace {

constexpr int kWhyRow = 10;             // thread id of a queue's second row, plus the queue
constexpr int64_t kFileEventsEach = 6;  // of one instruction: itself, why, arrow, counters
constexpr int64_t kBlock = 1000;        // instructions that are kept or left out together

std::string Quote(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class TimelineWriter {
 public:
  TimelineWriter(const KernelReport& report, const Program& program, int64_t max_events)
      : report_(report),
        program_(program),
        events_(report.timing.events),
        period_(std::max<int64_t>(
            1, (int64_t(events_.size()) * kFileEventsEach + max_events - 1) / max_events)),
        texts_(program.code.size()) {
    for (const Timed& t : events_) cores_ = std::max(cores_, t.core + 1);
    free_.resize(size_t(cores_));
  }

  std::string Write() {
    out_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":";
    StrAppend(&out_, "{\"note\":", Quote(kHonesty),
              ",\"model\":\"cycle-approximate\",\"kernel\":", Quote(report_.kernel),
              ",\"preset\":", Quote(report_.preset.name), ",\"preset_hash\":\"",
              Hex(Hash(report_.preset)), "\",\"left_out\":", Quote(LeftOut()),
              "},\n\"traceEvents\":[");
    Names();
    for (size_t i = 0; i < events_.size(); ++i) One(int64_t(i));
    for (int core = 0; core < cores_; ++core) {
      Live(core, kL1, "L1 live KiB");
      Live(core, kUB, "UB live KiB");
    }
    Rates();
    Waiting();
    return out_ + "\n]}\n";
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
  void Begin(std::string_view phase, int core, int row) {
    StrAppend(&out_, first_ ? "\n" : ",\n", "{\"ph\":\"", phase, "\",\"pid\":", core,
              ",\"tid\":", row);
    first_ = false;
  }
  void Name(std::string_view what, int core, int row, std::string_view name, int order) {
    Begin("M", core, row);
    StrAppend(&out_, ",\"name\":\"", what, "_name\",\"args\":{\"name\":", Quote(name), "}}");
    Begin("M", core, row);
    StrAppend(&out_, ",\"name\":\"", what, "_sort_index\",\"args\":{\"sort_index\":", order, "}}");
  }
  void Names() {
    for (int core = 0; core < cores_; ++core) {
      Name("process", core, 0,
           StrCat("core ", core, " (", report_.preset.name, ", cycle-approximate)"), core);
      for (int q = 0; q < kNumQueues; ++q) {
        const std::string name(npu::Name(Queue(q)));
        Name("thread", core, q, name, 2 * q);
        Name("thread", core, kWhyRow + q, StrCat(name, " waits"), 2 * q + 1);
      }
    }
  }

  const std::string& TextOf(uint32_t pc) {
    static const std::string kNone = "\"?\"";
    if (pc >= texts_.size()) return kNone;
    if (texts_[pc].empty()) texts_[pc] = Quote(Text(program_.code[pc]));
    return texts_[pc];
  }

  void One(int64_t i) {
    const Timed& t = events_[size_t(i)];
    int64_t& free = free_[t.core][t.queue];
    const int64_t since = std::max(free, t.dispatch);
    free = t.free;
    if (!Kept(i)) return;
    Begin("X", t.core, t.queue);
    StrAppend(&out_, ",\"ts\":", Us(t.start),
              ",\"dur\":", Us(std::max<int64_t>(1, t.free - t.start)), ",\"name\":\"",
              Info(t.op).name, "\",\"args\":{\"pc\":", t.pc, ",\"text\":", TextOf(t.pc),
              ",\"dispatch\":", t.dispatch, ",\"start\":", t.start, ",\"free\":", t.free,
              ",\"done\":", t.done);
    if (t.bytes) StrAppend(&out_, ",\"bytes\":", t.bytes);
    if (const SourceEntry* source = program_.SourceOf(t.pc)) {
      StrAppend(&out_, ",\"op\":", Quote(source->op));
      if (!source->file.empty())
        StrAppend(&out_, ",\"place\":", Quote(StrCat(source->file, ":", source->line)));
    }
    out_ += "}}";
    if (t.start > since) Why(t, since);
    if (t.op == Op::kWAIT && t.after >= 0 && Kept(t.after)) Arrow(t);
  }

  void Why(const Timed& t, int64_t since) {
    std::string name(npu::Name(t.bound));
    if (t.after >= 0) StrAppend(&name, " ", npu::Name(events_[size_t(t.after)].queue));
    Begin("X", t.core, kWhyRow + t.queue);
    StrAppend(&out_, ",\"ts\":", Us(since), ",\"dur\":", Us(t.start - since),
              ",\"name\":", Quote(name), ",\"args\":{\"pc\":", t.pc, "}}");
  }

  void Arrow(const Timed& wait) {
    const Timed& set = events_[size_t(wait.after)];
    const int64_t id = ++arrows_;
    const std::string rest = StrCat(",\"cat\":\"flag\",\"name\":\"", npu::Name(set.queue), ">",
                                    npu::Name(wait.queue), "\",\"id\":", id);
    Begin("s", set.core, set.queue);
    StrAppend(&out_, rest, ",\"ts\":", Us(set.start), "}");
    Begin("f", wait.core, wait.queue);
    StrAppend(&out_, rest, ",\"bp\":\"e\",\"ts\":", Us(wait.start), "}");
  }

  void Counter(int core, std::string_view name, int64_t cycle, std::string_view series,
               const std::string& value) {
    Begin("C", core, 0);
    StrAppend(&out_, ",\"ts\":", Us(cycle), ",\"name\":\"", name, "\",\"args\":{\"", series,
              "\":", value, "}}");
  }
  void Live(int core, Space space, std::string_view name) {
    const auto sums = LiveBytes(report_.timing, space, core);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (Kept(int64_t(i)))
        Counter(core, name, sums[i].first, "KiB", Fixed(double(sums[i].second) / 1024, 2));
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
        Counter(core, name, changes[i].cycle, series, Fixed(std::max(0.0, now), digits));
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
  bool first_ = true;
  std::string out_;
};

}  // namespace

std::string TimelineJson(const KernelReport& report, const Program& program,
                         const TimelineOptions& options) {
  return TimelineWriter(report, program, std::max<int64_t>(1, options.max_events)).Write();
}

}  // namespace frazil::npu
