/* A network with delay: MPI, but that a message sets out later than it is sent. Built by tests and
 * benchmarks (tests/distributed/delayed.py), opened by frazil as FRAZIL_MPI_LIBRARY. What is not
 * here is found in the library that this one is linked with.
 *
 * A thread sends what has waited for MPI_DELAY_US microseconds, in order; meanwhile the request is
 * one of this library's. Several messages are on the way at a time, as on a long wire. Of a message
 * that MPI itself negotiates about (longer than its eager limit) only the first word is late.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef uintptr_t word;

int PMPI_Isend(const void*, int, word, int, int, word, word*);
int PMPI_Test(word*, int*, void*);
int PMPI_Finalize(void);

struct late {
  const void* bytes;
  int count, to, tag, code, sent; /* sent: guarded by lock */
  word type, communicator, request;
  int64_t due;
  struct late* next;
};

/* A handle is an address of MPI's or, in MPICH, an int: neither is odd and above 2^62. */
#define MARK ((word)1 << 62 | 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static struct late *first, *last;
static int started;

static int64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void* work(void* unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!first) pthread_cond_wait(&some, &lock);
    struct late* const m = first;
    pthread_mutex_unlock(&lock);
    const int64_t left = m->due - now_us();
    if (left > 0) usleep((useconds_t)left);
    m->code = PMPI_Isend(m->bytes, m->count, m->type, m->to, m->tag, m->communicator, &m->request);
    pthread_mutex_lock(&lock);
    first = m->next;
    if (!first) last = NULL;
    m->sent = 1;
  }
  return NULL;
}

int MPI_Isend(const void* bytes, int count, word type, int to, int tag, word communicator,
              word* request) {
  const char* const delay = getenv("MPI_DELAY_US");
  struct late* const m = calloc(1, sizeof *m);
  pthread_t thread;
  m->bytes = bytes, m->count = count, m->to = to, m->tag = tag;
  m->type = type, m->communicator = communicator;
  m->due = now_us() + (delay ? atoi(delay) : 1000);
  pthread_mutex_lock(&lock);
  if (!started) {
    started = 1;
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
  }
  if (last) {
    last->next = m;
  } else {
    first = m;
  }
  last = m;
  pthread_cond_signal(&some);
  pthread_mutex_unlock(&lock);
  *request = (word)m | MARK;
  return 0;
}

int MPI_Test(word* request, int* done, void* status) {
  if ((*request & MARK) != MARK) return PMPI_Test(request, done, status);
  struct late* const m = (struct late*)(*request & ~MARK);
  pthread_mutex_lock(&lock);
  const int sent = m->sent;
  pthread_mutex_unlock(&lock);
  *done = 0;
  if (!sent) return 0;
  if (m->code != 0) return m->code;
  const int code = PMPI_Test(&m->request, done, status);
  if (*done || code != 0) free(m);
  return code;
}

int MPI_Finalize(void) {
  for (int waits = 1; waits;) {
    pthread_mutex_lock(&lock);
    waits = first != NULL;
    pthread_mutex_unlock(&lock);
    usleep(1000);
  }
  return PMPI_Finalize();
}
