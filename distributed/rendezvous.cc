#include "distributed/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/disk/private_files.h"
#include "distributed/now.h"
#include "distributed/tuned.h"

namespace frazil::distributed {
namespace {

constexpr size_t kMostWords = 4096;

// A line of text: everything here is one.
bool Say(int fd, std::string text) {
  text += '\n';
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}
bool Hear(int fd, double seconds, std::string* line) {
  line->clear();
  const double until = Now() + seconds;
  while (line->size() < kMostWords) {
    pollfd wait{fd, POLLIN, 0};
    const int milliseconds = static_cast<int>((until - Now()) * 1000);
    if (milliseconds <= 0 || poll(&wait, 1, milliseconds) < 0) return false;
    if (wait.revents == 0) continue;
    char c = 0;
    if (recv(fd, &c, 1, 0) != 1) return false;
    if (c == '\n') return true;
    *line += c;
  }
  return false;
}

std::string Greeting(const Meeting& m) {
  return StrCat("frazil ", m.size, " ", m.port, " ", m.job);
}

// On the first free port; -1 if there is none.
int Listen(const Meeting& m, int* port) {
  for (*port = m.port; *port < m.port + tuned::kRanksPorts; ++*port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int on = 1;  // a job that ended a moment ago does not count
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    any.sin_port = htons(static_cast<uint16_t>(*port));
    if (bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0 && listen(fd, m.size) == 0)
      return fd;
    close(fd);
  }
  return -1;
}

StatusOr<std::string> Give(const Meeting& m, const std::string& text, double until) {
  int port = 0;
  const OpenFile listener(Listen(m, &port));
  if (listener.get() < 0)
    return RuntimeError("[distributed] rank 0 can listen on none of the ports ", m.port, " to ",
                        m.port + tuned::kRanksPorts - 1, ": ", std::strerror(errno),
                        "; set MASTER_PORT to another.");
  std::vector<bool> served(static_cast<size_t>(m.size));
  for (int left = m.size - 1; left > 0;) {
    if (Now() > until)
      return RuntimeError("[distributed] ", left, " of ", m.size,
                          " ranks did not come to rank 0 at ", m.host, ":", port, " within ",
                          tuned::kRanksConnect, " s.");
    pollfd wait{listener.get(), POLLIN, 0};
    if (poll(&wait, 1, 200) <= 0) continue;
    const OpenFile one(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string word;
    if (one.get() < 0 || !Say(one.get(), Greeting(m)) || !Hear(one.get(), 5, &word)) continue;
    const int rank = std::atoi(word.c_str());
    if (rank <= 0 || rank >= m.size || !Say(one.get(), text)) continue;
    left -= !served[static_cast<size_t>(rank)];
    served[static_cast<size_t>(rank)] = true;
  }
  return text;
}

// The text, if rank 0 of this job listens there.
bool Ask(const Meeting& m, const addrinfo& at, int port, std::string* text) {
  const OpenFile one(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  std::memcpy(&to, at.ai_addr, sizeof(to));
  to.sin_port = htons(static_cast<uint16_t>(port));
  const timeval patience{tuned::kRanksGreeting, 0};
  setsockopt(one.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::string word;
  return connect(one.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
         Hear(one.get(), tuned::kRanksGreeting, &word) && word == Greeting(m) &&
         Say(one.get(), StrCat(m.rank)) && Hear(one.get(), 5, text);
}

}  // namespace

StatusOr<std::string> ShareByTcp(const Meeting& m, const std::string& text) {
  const double until = Now() + tuned::kRanksConnect;
  if (m.rank == 0) return Give(m, text, until);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  std::string given;
  while (Now() < until) {
    if (getaddrinfo(m.host.c_str(), nullptr, &wanted, &found) == 0) {
      bool got = false;
      for (int i = 0; i < tuned::kRanksPorts && !got; ++i) got = Ask(m, *found, m.port + i, &given);
      freeaddrinfo(found);
      if (got) return given;
    }
    usleep(50'000);
  }
  return RuntimeError("[distributed] rank ", m.rank, " finds no rank 0 of this job at ", m.host,
                      ", ports ", m.port, " to ", m.port + tuned::kRanksPorts - 1, ", within ",
                      tuned::kRanksConnect, " s.");
}

}  // namespace frazil::distributed
