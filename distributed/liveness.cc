#include "distributed/liveness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/threads/long_work.h"
#include "distributed/agreement.h"
#include "distributed/now.h"
#include "distributed/tuned.h"

namespace frazil::distributed {
namespace {

// What a frame says: a sign of life, that its rank has ended well, or failed, and why; a word for
// all, and one for rank 0.
constexpr char kAlive = 'A', kLeft = 'L', kFailed = 'F', kPosted = 'P', kTold = 'T';
struct Frame {
  char type;
  int32_t rank;
  uint32_t length;
};
constexpr size_t kFrame = 1 + 4 + 4, kSecret = 32, kMostText = 4000;
constexpr useconds_t kAsk = 100;  // between looks for a word

std::string Host() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

Status System(const char* what) {
  return RuntimeError("[distributed] ", what,
                      " of the channel between ranks failed: ", std::strerror(errno), ".");
}

void Configure(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
}

bool ReadAll(int socket, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t n = recv(socket, bytes, count, 0);
    if (n <= 0) return false;
    bytes += n, count -= static_cast<size_t>(n);
  }
  return true;
}

// Addresses of this machine, the way to itself first.
std::vector<std::string> Addresses() {
  std::vector<std::string> out = {"127.0.0.1"};
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return out;
  for (const ifaddrs* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN];
    sockaddr_in address;
    std::memcpy(&address, i->ifa_addr, sizeof(address));
    if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text)) && out[0] != text)
      out.emplace_back(text);
  }
  freeifaddrs(all);
  return out;
}

}  // namespace

Liveness::Liveness(int rank, int size, double timeout)
    : rank_(rank),
      size_(size),
      timeout_(timeout),
      left_(static_cast<size_t>(size)),
      ledger_(std::make_unique<Ledger>()) {}

StatusOr<std::unique_ptr<Liveness>> Liveness::Start(int rank, int size, double timeout,
                                                    const Share& share) {
  auto made = std::unique_ptr<Liveness>(new Liveness(rank, size, timeout));
  if (pipe(made->wake_) != 0) return System("pipe");
  for (const int end : made->wake_) Configure(end);
  std::string address;
  if (rank == 0) FZ_RETURN_IF_ERROR(made->Listen(&address));
  FZ_ASSIGN_OR_RETURN(address, share(address));
  FZ_RETURN_IF_ERROR(made->Connect(address));
  for (Peer& peer : made->peers_) peer.heard = Now();
  Liveness* const self = made.get();
  made->thread_ = std::thread([self] { self->Run(); });
  return made;
}

Status Liveness::Listen(std::string* address) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener_ < 0) return System("socket");
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t length = sizeof(any);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0 ||
      listen(listener_, size_) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &length) != 0) {
    return System("listen");
  }
  std::random_device random;
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < kSecret; ++i) secret_ += kDigits[random() % 16];
  *address = StrCat(Host(), " ", ntohs(any.sin_port), " ", secret_);
  for (const std::string& own : Addresses()) StrAppend(address, " ", own);
  return absl::OkStatus();
}

// Rank 0 takes the others in; they come to it.
Status Liveness::Connect(const std::string& address) {
  constexpr double kPatience = tuned::kRanksConnect;
  const double until = Now() + kPatience;
  if (rank_ == 0) {
    while (peers_.size() + 1 < static_cast<size_t>(size_)) {
      pollfd wait{listener_, POLLIN, 0};
      if (poll(&wait, 1, 1000) < 0 && errno != EINTR) return System("poll");
      if (Now() > until) {
        return RuntimeError("[distributed] ", size_ - 1 - static_cast<int>(peers_.size()), " of ",
                            size_, " ranks did not connect to rank 0 within ", kPatience, " s.");
      }
      if (!(wait.revents & POLLIN)) continue;
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const timeval patience{5, 0};
      setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
      char hello[kSecret + 4];
      int32_t rank = -1;
      const bool whole = ReadAll(socket, hello, sizeof(hello));
      if (whole) std::memcpy(&rank, hello + kSecret, 4);
      if (!whole || secret_ != std::string(hello, kSecret) || rank <= 0 || rank >= size_) {
        close(socket);  // a stranger
        continue;
      }
      Configure(socket);
      Peer peer;
      peer.socket = socket, peer.rank = rank;
      peers_.push_back(std::move(peer));
    }
    return absl::OkStatus();
  }
  const std::vector<std::string> words = absl::StrSplit(address, ' ');
  int port = 0;
  if (words.size() < 4 || !absl::SimpleAtoi(words[1], &port))
    return RuntimeError("[distributed] rank 0 gave no address: '", address, "'.");
  for (;;) {
    for (size_t i = 3; i < words.size(); ++i) {
      if (words[i] == "127.0.0.1" && words[0] != Host()) continue;
      const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(static_cast<uint16_t>(port));
      inet_pton(AF_INET, words[i].c_str(), &to.sin_addr);
      if (connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
        close(socket);
        continue;
      }
      const int32_t rank = rank_;
      std::string hello = words[2];
      hello.append(reinterpret_cast<const char*>(&rank), 4);
      if (send(socket, hello.data(), hello.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(hello.size())) {
        close(socket);
        continue;
      }
      Configure(socket);
      Peer peer;
      peer.socket = socket, peer.rank = 0;
      peers_.push_back(std::move(peer));
      return absl::OkStatus();
    }
    if (Now() > until)
      return RuntimeError("[distributed] rank ", rank_, " cannot connect to rank 0 at ", words[0],
                          ":", port, ".");
    usleep(50'000);
  }
}

Liveness::~Liveness() {
  stop_ = true;
  Wake();
  if (thread_.joinable()) thread_.join();
  for (const Peer& peer : peers_) {
    if (peer.socket >= 0) close(peer.socket);
  }
  for (const int fd : {listener_, wake_[0], wake_[1]}) {
    if (fd >= 0) close(fd);
  }
}

std::string Liveness::failure() const {
  const MutexLock lock(&mutex_);
  return failure_;
}

void Liveness::Wake() { (void)!write(wake_[1], "", 1); }

void Liveness::Fail(const std::string& why) {
  {
    const MutexLock lock(&mutex_);
    if (!failure_.empty()) return;
    failure_ = StrCat("rank ", rank_, " ", why.substr(0, kMostText));
    failed_.store(true, std::memory_order_release);
    said_.push_back(failure_);
  }
  ++unsent_;
  Wake();
}

void Liveness::Queue(char type, std::string text) {
  {
    const MutexLock lock(&mutex_);
    words_.emplace_back(type, std::move(text));
  }
  Wake();
}

void Liveness::Tell(std::string word) { Queue(kTold, std::move(word)); }
void Liveness::Post(const std::string& name, const std::string& text) {
  Queue(kPosted, StrCat(name, std::string_view("\0", 1), text));
}

StatusOr<std::string> Liveness::Await(const std::string& name, int from) {
  for (double left_since = 0;;) {
    {
      const MutexLock lock(&mutex_);
      if (const auto at = posted_.find(name); at != posted_.end()) {
        std::string text = at->second;
        if (from < 0) posted_.erase(at);  // a barrier, which is asked for once
        return text;
      }
    }
    if (failed()) return RuntimeError("[distributed] ", failure(), ".");
    if (Abandoned()) {
      Fail("was interrupted");
      return Interrupted();
    }
    if (from >= 0 && left(from)) {
      if (left_since == 0) left_since = Now();
      if (Now() - left_since > tuned::kRanksUnderWay)
        Fail(StrCat("waits for rank ", from, ", whose program has ended without it"));
    }
    usleep(kAsk);
  }
}

// On the thread of its own.
void Liveness::TakeWord(char type, int rank, const std::string& text, const Peer* from) {
  if (type == kTold) {
    const Ledger::Verdict verdict = ledger_->Add(rank, text, Now());
    if (verdict.rank >= 0) Told(verdict.rank, verdict.why);
    if (!verdict.done.empty())
      TakeWord(kPosted, rank_, verdict.done + std::string("\0", 1), nullptr);
    return;
  }
  if (rank_ == 0) ToAll(kPosted, rank, text, from);
  const size_t end = text.find('\0');
  if (end == std::string::npos) return;
  const MutexLock lock(&mutex_);
  posted_[text.substr(0, end)] = text.substr(end + 1);
}

void Liveness::CheckCalls(double now) {
  if (rank_ != 0 || ledger_->open() == 0 || failed()) return;
  const Ledger::Verdict verdict =
      ledger_->Overdue([&](int rank) { return left(rank); }, CollectiveTimeout(), now);
  if (verdict.rank >= 0) Told(verdict.rank, verdict.why);
}

void Liveness::Leave() {
  leaving_ = true;
  ++unsent_;
  Wake();
}

void Liveness::Linger(double seconds) {
  const double until = Now() + seconds;
  while (Now() < until && (unsent_ > 0 || failed_)) usleep(2000);
}

void Liveness::Told(int rank, const std::string& why) {
  {
    const MutexLock lock(&mutex_);
    if (!failure_.empty()) return;
    failure_ = why;
    failed_.store(true, std::memory_order_release);
  }
  if (rank_ == 0) ToAll(kFailed, rank, why, nullptr);
}

void Liveness::Send(Peer* peer, char type, int rank, const std::string& text) {
  if (peer->socket < 0) return;
  const auto rank32 = static_cast<int32_t>(rank);
  const auto length = static_cast<uint32_t>(text.size());
  peer->out += type;
  peer->out.append(reinterpret_cast<const char*>(&rank32), 4);
  peer->out.append(reinterpret_cast<const char*>(&length), 4);
  peer->out += text;
  Flush(peer);
}

void Liveness::ToAll(char type, int rank, const std::string& text, const Peer* but) {
  for (Peer& peer : peers_) {
    if (&peer != but) Send(&peer, type, rank, text);
  }
}

void Liveness::Flush(Peer* peer) {
  while (peer->socket >= 0 && !peer->out.empty()) {
    const ssize_t n = send(peer->socket, peer->out.data(), peer->out.size(), MSG_NOSIGNAL);
    if (n < 0) return;  // later, or its end is seen when it is read
    peer->out.erase(0, static_cast<size_t>(n));
  }
}

void Liveness::Take(Peer* peer) {
  while (peer->in.size() >= kFrame) {
    Frame frame;
    frame.type = peer->in[0];
    std::memcpy(&frame.rank, peer->in.data() + 1, 4);
    std::memcpy(&frame.length, peer->in.data() + 5, 4);
    if (peer->in.size() < kFrame + frame.length) return;
    const std::string text = peer->in.substr(kFrame, frame.length);
    peer->in.erase(0, kFrame + frame.length);
    if (frame.rank < 0 || frame.rank >= size_) continue;
    if (frame.type == kFailed) Told(frame.rank, text);
    if (frame.type == kPosted || (frame.type == kTold && rank_ == 0))
      TakeWord(frame.type, frame.rank, text, peer);
    if (frame.type == kLeft) {
      left_[static_cast<size_t>(frame.rank)] = true;
      if (frame.rank == peer->rank) peer->left = true;
      if (rank_ == 0) ToAll(kLeft, frame.rank, "", peer);
    }
  }
}

void Liveness::Hear(Peer* peer, double now) {
  char bytes[4096];
  for (;;) {
    const ssize_t n = recv(peer->socket, bytes, sizeof(bytes), 0);
    if (n > 0) {
      peer->heard = now;
      peer->in.append(bytes, static_cast<size_t>(n));
      continue;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Take(peer);
    Take(peer);
    close(peer->socket);
    peer->socket = -1;
    if (!peer->left) Told(peer->rank, StrCat("rank ", peer->rank, " has died"));
    return;
  }
}

void Liveness::Run() {
  const double beat = std::min(1.0, timeout_ / 5);
  double next = 0;
  bool said_left = false;
  while (!stop_) {
    std::vector<pollfd> waits = {{wake_[0], POLLIN, 0}};
    for (const Peer& peer : peers_) waits.push_back({peer.socket, POLLIN, 0});
    (void)poll(waits.data(), waits.size(), static_cast<int>(beat * 500));
    const double now = Now();
    char drained[64];
    while (read(wake_[0], drained, sizeof(drained)) > 0) {
    }
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (peers_[i].socket >= 0 && waits[i + 1].revents) Hear(&peers_[i], now);
    }
    std::vector<std::string> said;
    std::vector<std::pair<char, std::string>> words;
    {
      const MutexLock lock(&mutex_);
      said.swap(said_);
      words.swap(words_);
    }
    for (const auto& [type, text] : words) {
      if (rank_ == 0) {
        TakeWord(type, 0, text, nullptr);
      } else {
        ToAll(type, rank_, text, nullptr);
      }
    }
    for (const std::string& text : said) {
      ToAll(kFailed, rank_, text, nullptr);
      --unsent_;
    }
    if (leaving_ && !said_left) {
      said_left = true;
      ToAll(kLeft, rank_, "", nullptr);
      --unsent_;
    }
    if (now >= next) {
      next = now + beat;
      ToAll(kAlive, rank_, "", nullptr);
      CheckCalls(now);
    }
    for (Peer& peer : peers_) {
      Flush(&peer);
      if (peer.socket < 0 || peer.left || now - peer.heard <= timeout_) continue;
      peer.heard = now;
      Told(peer.rank,
           StrCat("rank ", peer.rank, " has given no sign of life for ", timeout_, " s"));
    }
  }
}

}  // namespace frazil::distributed
