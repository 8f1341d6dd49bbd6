// Whether the other processes are well: a channel beside MPI that tells in time when one has died,
// stopped or raised an error, of which MPI says nothing. Made by distributed/world.cc, asked by
// whoever waits for other ranks (distributed/wire.h).
//
// Every rank holds one TCP connection to rank 0, which passes on what it hears. A process that dies
// closes its connection; one that is stopped sends no heartbeat; one that raises says so before it
// ends; one that ends well says that, too. A thread of its own sends and hears, so neither long
// kernels nor the host's lock delay it. Short words go the same way: what one rank posts for all
// (ids of NCCL), and what each tells rank 0 of its calls (distributed/agreement.h).
//
// Invariant: the first failure that arrives is the one that all ranks tell of from then on.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/status.h"
#include "core/threads/mutex.h"

namespace frazil::distributed {

class Ledger;

class Liveness {
 public:
  // `share`: what rank 0 gives it is what it gives back on all ranks.
  using Share = std::function<StatusOr<std::string>(std::string)>;

  static StatusOr<std::unique_ptr<Liveness>> Start(int rank, int size, double timeout,
                                                   const Share& share);
  ~Liveness();

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Why, as the rest of a sentence: "rank 1 raised ValueError: ..."; empty if all is well.
  std::string failure() const;
  // Whether a rank has ended well, so that nobody may wait for it.
  bool left(int rank) const { return left_[static_cast<size_t>(rank)].load(); }

  // This rank fails, or found that the ranks do not agree.
  void Fail(const std::string& why);
  // This rank ends well: nothing that happens to it matters from here on.
  void Leave();
  // A word under a name that nobody else posts, for all ranks.
  void Post(const std::string& name, const std::string& text);
  // Waits for it; an error if the world fails, or `from` has ended without it (-1: of a barrier).
  StatusOr<std::string> Await(const std::string& name, int from);
  // What distributed/agreement.h has to tell rank 0.
  void Tell(std::string word);
  // Waits until what was said has been sent and others had the time to read it.
  void Linger(double seconds);

 private:
  struct Peer {
    int socket = -1;
    int rank = -1;
    double heard = 0;
    bool left = false;
    std::string in, out;
  };

  Liveness(int rank, int size, double timeout);
  Status Listen(std::string* address);
  Status Connect(const std::string& address);
  void Run();
  void Hear(Peer* peer, double now);
  void Take(Peer* peer);
  void TakeWord(char type, int rank, const std::string& text, const Peer* from);
  void CheckCalls(double now);
  void Queue(char type, std::string text);
  void Told(int rank, const std::string& why);
  void Send(Peer* peer, char type, int rank, const std::string& text);
  void ToAll(char type, int rank, const std::string& text, const Peer* but);
  void Flush(Peer* peer);
  void Wake();

  const int rank_, size_;
  const double timeout_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::string secret_;
  std::vector<Peer> peers_;
  std::vector<std::atomic<bool>> left_;
  std::atomic<bool> failed_{false}, leaving_{false}, stop_{false};
  mutable Mutex mutex_;
  std::string failure_;                              // guarded by mutex_
  std::vector<std::string> said_;                    // by this rank, to be sent: guarded by mutex_
  std::vector<std::pair<char, std::string>> words_;  // as said_
  std::map<std::string, std::string> posted_;        // guarded by mutex_
  std::unique_ptr<Ledger> ledger_;                   // of rank 0; its thread's
  std::atomic<int> unsent_{0};
  std::thread thread_;
};

}  // namespace frazil::distributed
