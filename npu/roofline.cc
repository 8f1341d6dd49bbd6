#include <algorithm>
#include <cmath>

#include "core/str.h"
#include "npu/metrics.h"

namespace frazil::npu {
namespace {

struct Line {
  std::string name;
  double rate = 0;  // bytes a cycle; 0: a flat roof
  double top = 0;   // flops a cycle: the roof, or where the slope ends
};
struct Dot {
  std::string name;
  char letter = 'a';
  double intensity = 0, flops = 0;  // a cycle
};

// Two decades around what is shown, in logarithms.
struct Frame {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  double X(double intensity) const { return (std::log10(intensity) - x0) / (x1 - x0); }
  double Y(double flops) const { return (std::log10(flops) - y0) / (y1 - y0); }
};

std::vector<Line> Lines(const Preset& p) {
  const double f16 = 2 * MatrixRate(p, kF16), i8 = 2 * MatrixRate(p, kI8),
               f32 = 2 * MatrixRate(p, kF32);
  std::vector<Line> lines;
  const double top = std::max({f16, i8, f32});
  lines.push_back({"GM", p.gm_read, top});
  if (p.l2_bytes > 0) lines.push_back({"L2", p.l2_read, top});
  lines.push_back({"matrix i8", 0, i8});
  if (f16 != i8) lines.push_back({"matrix f16", 0, f16});
  lines.push_back({"matrix f32", 0, f32});
  lines.push_back({"vector", 0, p.vector_bytes / 4.0});
  return lines;
}

std::vector<Dot> Dots(absl::Span<const KernelReport> kernels) {
  std::vector<Dot> dots;
  for (const KernelReport& k : kernels) {
    const Metrics m = Measure(k);
    if (m.intensity <= 0 || m.flops <= 0 || k.timing.cycles <= 0) continue;
    const char letter = char(dots.size() < 26 ? 'a' + dots.size() : '*');
    dots.push_back({k.op.empty() ? k.kernel : k.op, letter, m.intensity,
                    m.flops / double(k.timing.cycles) / std::max(1, k.cores)});
  }
  return dots;
}

Frame FrameOf(const std::vector<Line>& lines, const std::vector<Dot>& dots) {
  double x0 = 1e-1, x1 = 1e4, y0 = 1, y1 = 1;
  for (const Line& line : lines) y1 = std::max(y1, line.top);
  for (const Dot& dot : dots) {
    x0 = std::min(x0, dot.intensity);
    x1 = std::max(x1, dot.intensity);
    y0 = std::min(y0, dot.flops);
  }
  return {std::floor(std::log10(x0)), std::ceil(std::log10(x1)), std::floor(std::log10(y0)),
          std::log10(y1) + 0.15};
}

std::string Units() {
  return "x: FLOP per byte of device memory, y: FLOP per cycle of one core, both logarithmic";
}

std::string Legend(const Dot& dot) {
  return StrCat(std::string(1, dot.letter), "  ", dot.name, "  ", Fixed(dot.intensity, 2),
                " FLOP/B  ", Fixed(dot.flops, 1), " FLOP/cycle");
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string RooflineText(absl::Span<const KernelReport> kernels) {
  if (kernels.empty()) return "no kernels\n";
  constexpr int kWidth = 72, kHeight = 22;
  const Preset& p = kernels[0].preset;
  const std::vector<Line> lines = Lines(p);
  const std::vector<Dot> dots = Dots(kernels);
  const Frame frame = FrameOf(lines, dots);
  std::vector<std::string> grid(kHeight, std::string(kWidth, ' '));
  const auto put = [&](double x, double y, char c) {
    const int column = int(x * (kWidth - 1) + 0.5),
              row = kHeight - 1 - int(y * (kHeight - 1) + 0.5);
    if (column >= 0 && column < kWidth && row >= 0 && row < kHeight)
      grid[size_t(row)][size_t(column)] = c;
  };
  for (const Line& line : lines) {
    for (int column = 0; column < kWidth; ++column) {
      const double x = double(column) / (kWidth - 1);
      const double intensity = std::pow(10, frame.x0 + x * (frame.x1 - frame.x0));
      // A flat roof begins where device memory reaches it.
      const double flops = line.rate > 0 ? line.rate * intensity : line.top;
      if (line.rate > 0 ? flops <= line.top : intensity * p.gm_read >= line.top)
        put(x, frame.Y(flops), line.rate > 0 ? '/' : '-');
    }
    if (line.rate == 0) {
      const int row = kHeight - 1 - int(frame.Y(line.top) * (kHeight - 1) + 0.5);
      grid[size_t(row)].replace(kWidth - line.name.size(), line.name.size(), line.name);
    }
  }
  for (const Dot& dot : dots) put(frame.X(dot.intensity), frame.Y(dot.flops), dot.letter);
  std::string text = StrCat("roofline ", p.name, "   ", Units(), "\n");
  for (const std::string& row : grid) {
    std::string line = StrCat("|", row);
    line.erase(line.find_last_not_of(' ') + 1);
    StrAppend(&text, line, "\n");
  }
  StrAppend(&text, "+", std::string(kWidth, '-'), "\n");
  const std::string left = Fixed(std::pow(10, frame.x0), 1),
                    right = Fixed(std::pow(10, frame.x1), 0);
  StrAppend(&text, " ", left, std::string(size_t(kWidth) - left.size() - right.size(), ' '), right,
            "\n");
  for (const Dot& dot : dots) StrAppend(&text, Legend(dot), "\n");
  return StrCat(text, kHonesty, "\n");
}

std::string RooflineSvg(absl::Span<const KernelReport> kernels) {
  constexpr double kWidth = 760, kHeight = 460, kLeft = 60, kTop = 30, kPlotW = 560, kPlotH = 380;
  std::string svg = StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ",
                           kHeight, "\" font-family=\"sans-serif\" font-size=\"11\">\n");
  StrAppend(&svg, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  const auto text = [&svg](double x, double y, std::string_view words) {
    StrAppend(&svg, "<text x=\"", Fixed(x, 1), "\" y=\"", Fixed(y, 1), "\">", Escaped(words),
              "</text>\n");
  };
  text(kLeft, kHeight - 8, kHonesty);
  if (kernels.empty()) return svg + "</svg>\n";
  const Preset& p = kernels[0].preset;
  const std::vector<Line> lines = Lines(p);
  const std::vector<Dot> dots = Dots(kernels);
  const Frame frame = FrameOf(lines, dots);
  const auto x = [&](double intensity) { return kLeft + frame.X(intensity) * kPlotW; };
  const auto y = [&](double flops) { return kTop + (1 - frame.Y(flops)) * kPlotH; };
  const auto segment = [&](double a, double fa, double b, double fb, std::string_view color) {
    StrAppend(&svg, "<line x1=\"", Fixed(x(a), 1), "\" y1=\"", Fixed(y(fa), 1), "\" x2=\"",
              Fixed(x(b), 1), "\" y2=\"", Fixed(y(fb), 1), "\" stroke=\"", color, "\"/>\n");
  };
  text(kLeft, 18, StrCat("roofline ", p.name, ": ", Units()));
  for (double d = frame.x0; d <= frame.x1; ++d) {
    const double at = std::pow(10, d);
    segment(at, std::pow(10, frame.y0), at, std::pow(10, frame.y1), "#ddd");
    text(x(at) - 8, kTop + kPlotH + 14, Fixed(at, d < 0 ? 1 : 0));
  }
  for (double d = frame.y0; d <= frame.y1; ++d) {
    const double at = std::pow(10, d);
    segment(std::pow(10, frame.x0), at, std::pow(10, frame.x1), at, "#ddd");
    text(8, y(at) + 4, Fixed(at, 0));
  }
  for (const Line& line : lines) {
    const double end = std::pow(10, frame.x1);
    if (line.rate > 0) {
      const double from = std::max(std::pow(10, frame.x0), std::pow(10, frame.y0) / line.rate);
      segment(from, from * line.rate, line.top / line.rate, line.top, "#36c");
      text(x(from) + 4, y(from * line.rate) - 4, StrCat(line.name, " ", line.rate, " B/cycle"));
    } else {
      segment(line.top / p.gm_read, line.top, end, line.top, "#333");
      text(kLeft + kPlotW + 6, y(line.top) + 4, StrCat(line.name, " ", line.top));
    }
  }
  for (const Dot& dot : dots) {
    StrAppend(&svg, "<circle cx=\"", Fixed(x(dot.intensity), 1), "\" cy=\"", Fixed(y(dot.flops), 1),
              "\" r=\"4\" fill=\"#c33\"><title>", Escaped(Legend(dot)), "</title></circle>\n");
    text(x(dot.intensity) + 6, y(dot.flops) - 4, dot.name);
  }
  return svg + "</svg>\n";
}

}  // namespace frazil::npu
