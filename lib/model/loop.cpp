// SPDX-License-Identifier: BSD-3-Clause
#include "model/loop.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace chime::model {
namespace {

constexpr std::uint64_t spin_alone_ns = 5'000;   ///< after the last work; then gives way between two looks
constexpr std::uint64_t spin_ns = 50'000;        ///< after the last work; then sleeps
constexpr std::uint64_t first_sleep_ns = 1'000;  ///< doubled up to ...
constexpr std::uint64_t longest_sleep_ns = 100'000;
constexpr unsigned steps_between_clocks = 16;  ///< idle steps between two looks at the clock

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

timespec now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t;
}

std::uint64_t nanoseconds(const timespec& t) noexcept {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

timespec later(timespec t, std::uint64_t ns) noexcept {
  t.tv_nsec += static_cast<long>(ns);
  if (t.tv_nsec >= 1'000'000'000) {
    t.tv_nsec -= 1'000'000'000;
    ++t.tv_sec;
  }
  return t;
}

/// The CPUs of all threads of this process together. A thread made by one that is bound to a CPU would share
/// that CPU; what the process was started with shows in those that are not bound.
cpu_set_t process_cpus() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = tasks ? readdir(tasks) : nullptr) {
    const int id = std::atoi(task->d_name);
    cpu_set_t own;
    if (id > 0 && sched_getaffinity(id, sizeof own, &own) == 0) CPU_OR(&all, &all, &own);
  }
  if (tasks) closedir(tasks);
  return all;
}

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) noexcept : mutex_(&mutex) { pthread_mutex_lock(mutex_); }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t* mutex_;
};

/// A call on its way to the thread; lies on the caller's stack.
struct Call {
  void (*function)(void*);
  void* argument;
  bool done = false;
  Call* next = nullptr;
};

}  // namespace

struct Loop::State {
  explicit State(LoopOptions::Mode m) noexcept : mode(m) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&wake, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~State() {
    pthread_cond_destroy(&called);
    pthread_cond_destroy(&wake);
    pthread_mutex_destroy(&mutex);
  }

  unsigned step() noexcept {
    unsigned work = 0;
    for (std::size_t i = 0; i < used; ++i) {
      if (stepped[i]) work += stepped[i]->step();
    }
    if (holes) compact();
    return work;
  }

  /// A member that was removed during a step left a hole.
  void compact() noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < used; ++i) {
      if (stepped[i]) stepped[kept++] = stepped[i];
    }
    used = kept;
    holes = false;
  }

  Result<> add(Stepped& item) noexcept {
    if (used == stepped.size()) {
      auto grown = Array<Stepped*>::make(used ? used * 2 : 4, "the list of stepped HCAs");
      if (!grown) return fail(grown.error());
      for (std::size_t i = 0; i < used; ++i) (*grown)[i] = stepped[i];
      stepped = std::move(*grown);
    }
    stepped[used++] = &item;
    return {};
  }

  void remove(Stepped& item) noexcept {
    for (std::size_t i = 0; i < used; ++i) {
      if (stepped[i] != &item) continue;
      stepped[i] = nullptr;
      holes = true;
    }
  }

  void serve_calls() noexcept {
    Call* list = nullptr;
    {
      const Lock lock(mutex);
      list = first;
      first = last = nullptr;
      waiting.store(false, std::memory_order_relaxed);
    }
    while (list) {
      Call* const call = list;
      list = call->next;  // the caller's stack is gone once it is done
      call->function(call->argument);
      const Lock lock(mutex);
      call->done = true;
      pthread_cond_broadcast(&called);
    }
  }

  /// @return false when woken
  bool sleep(std::uint64_t ns) noexcept {
    const timespec until = later(now(), ns);
    const Lock lock(mutex);
    while (!waiting.load(std::memory_order_relaxed)) {
      if (pthread_cond_timedwait(&wake, &mutex, &until) != 0) return true;
    }
    return false;
  }

  void run() noexcept {
    std::uint64_t idle_since = 0, pause_ns = first_sleep_ns;
    unsigned idle_steps = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      if (waiting.load(std::memory_order_acquire)) {
        serve_calls();
        idle_steps = 0;
        continue;
      }
      if (step() != 0) {
        idle_steps = 0;
        continue;
      }
      relax();
      if (idle_steps++ % steps_between_clocks != 0) continue;
      const std::uint64_t t = nanoseconds(now());
      if (idle_steps == 1) {
        idle_since = t;
        pause_ns = first_sleep_ns;
      } else if (t - idle_since > spin_alone_ns && t - idle_since <= spin_ns) {
        sched_yield();  // who answers may be waiting for this CPU
      } else if (t - idle_since > spin_ns) {
        idle_steps = 1;  // looks at the clock after the next steps, but sleeps on
        if (!sleep(pause_ns)) continue;
        if (pause_ns < longest_sleep_ns)
          pause_ns = pause_ns * 2 < longest_sleep_ns ? pause_ns * 2 : longest_sleep_ns;
      }
    }
    serve_calls();
  }

  static void* enter(void* self) noexcept {
    // Without it the kernel lengthens every sleep by 50 us.
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    static_cast<State*>(self)->run();
    return nullptr;
  }

  /// @param cpu to bind the thread to, or -1
  Result<> start(int cpu) noexcept {
    cpu_set_t cpus;
    if (cpu >= CPU_SETSIZE) return fail(EINVAL, "model thread: there is no CPU %d", cpu);
    if (cpu >= 0) {
      CPU_ZERO(&cpus);
      CPU_SET(static_cast<unsigned>(cpu), &cpus);
    } else {
      cpus = process_cpus();
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (CPU_COUNT(&cpus) != 0) pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    const int error = pthread_create(&thread, &attributes, enter, this);
    pthread_attr_destroy(&attributes);
    if (error != 0 && cpu >= 0) {
      return fail(error,
                  "model thread on CPU %d: %s; a CPU of this process (see taskset -p) or -1 would work", cpu,
                  std::strerror(error));
    }
    if (error != 0) return fail(error, "model thread: %s", std::strerror(error));
    started = true;
    pthread_setname_np(thread, "chime-model");
    return {};
  }

  const LoopOptions::Mode mode;
  pthread_t thread{};
  bool started = false;

  Array<Stepped*> stepped;  ///< the first `used`
  std::size_t used = 0;
  bool holes = false;

  std::atomic<bool> stop{false};
  std::atomic<bool> waiting{false};  ///< there is a call; written under the mutex
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake;
  pthread_cond_t called = PTHREAD_COND_INITIALIZER;
  Call* first = nullptr;
  Call* last = nullptr;
};

Loop::Loop(Owned<State> state) noexcept : state_(std::move(state)) {}

Result<Owned<Loop>> Loop::create(const LoopOptions& options) noexcept {
  auto state = make_owned<State>("the model's loop", options.mode);
  if (!state) return fail(state.error());
  Owned<Loop> loop(new (std::nothrow) Loop(std::move(*state)));
  if (!loop) return fail(ENOMEM, "no memory for the model's loop");
  if (options.mode == LoopOptions::Mode::thread) {
    if (auto started = loop->state_->start(options.cpu); !started) return fail(started.error());
  }
  return loop;
}

Loop::~Loop() {
  if (!state_ || !state_->started) return;
  {
    const Lock lock(state_->mutex);
    state_->stop.store(true, std::memory_order_relaxed);
    state_->waiting.store(true, std::memory_order_release);
    pthread_cond_signal(&state_->wake);
  }
  pthread_join(state_->thread, nullptr);
}

void Loop::call(void (*function)(void*), void* argument) noexcept {
  State& s = *state_;
  if (s.mode == LoopOptions::Mode::caller || pthread_equal(pthread_self(), s.thread)) {
    function(argument);
    return;
  }
  Call call{function, argument};
  const Lock lock(s.mutex);
  (s.last ? s.last->next : s.first) = &call;
  s.last = &call;
  s.waiting.store(true, std::memory_order_release);
  pthread_cond_signal(&s.wake);
  while (!call.done) pthread_cond_wait(&s.called, &s.mutex);
}

Result<> Loop::add(Stepped& stepped) noexcept {
  Result<> result;
  run([&] { result = state_->add(stepped); });
  return result;
}

void Loop::remove(Stepped& stepped) noexcept {
  run([&] { state_->remove(stepped); });
}

unsigned Loop::step() noexcept {
  return state_->step();
}

}  // namespace chime::model
