// SPDX-License-Identifier: Apache-2.0
#include "executor/cuda/host_gpus.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/kernels.hpp"
#include "executor/cuda/host_machine.hpp"

namespace coppice::executor::cuda::test {
namespace {

[[maybe_unused]] constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr std::int64_t kMemory = std::int64_t{4} << 30;  // of a pretended device
constexpr int kRoom = 1 << 10;
constexpr std::int64_t kPage = 4096;

std::size_t at(Arena arena) {
  return static_cast<std::size_t>(arena);
}

}  // namespace

HostGpus::HostGpus(HostOptions options) : m_options(std::move(options)), m_arenas(m_options.reach.size()) {
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // these need stacks of the usual size
  // Hundreds of threads come and go with every run; small stacks are kept for the next ones.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
#endif
  m_worker = std::thread([this] { serve(); });
}

HostGpus::~HostGpus() {
  {
    const std::lock_guard lock(m_mutex);
    m_isClosing = true;
  }
  m_changed.notify_all();
  m_worker.join();
}

std::map<std::string, std::string> HostGpus::facts() const {
  std::map<std::string, std::string> facts;
  for (int device = 0; device < count(); ++device) {
    facts[name(device)] = "host threads";
  }
  return facts;
}

Result<DeviceRoom> HostGpus::load(int device, DataType /*type*/, KernelKind /*which*/) {
  if (device >= count()) {
    return Error{.code = ErrorCode::unavailable, .message = "no such device"};
  }
  return DeviceRoom{.multiprocessors = 1 << 10, .blocksEach = {kRoom, kRoom, kRoom, kRoom}};
}

// ---- memory

Result<std::int64_t> HostGpus::available(int /*device*/) {
  return kMemory;
}

Outcome HostGpus::reserve(int device, Arena arena, std::int64_t bytes) {
  SharedSegment& memory = m_arenas[device][at(arena)];
  if (bytes <= memory.size()) {
    return Done{};
  }
  memory = {};
  auto made = SharedSegment::make((bytes + kPage - 1) / kPage * kPage, false);
  if (!made) {
    return made.error();
  }
  memory = *std::move(made);
  std::memset(memory.data(), 0xEE, static_cast<std::size_t>(memory.size()));  // as a device's, it is not clean
  return Done{};
}

void HostGpus::release(int device, Arena arena) {
  m_arenas[device][at(arena)] = {};
}

MemoryRange HostGpus::memory(int device, Arena arena) const {
  const SharedSegment& memory = m_arenas[device][at(arena)];
  return {.data = reinterpret_cast<unsigned char*>(memory.data()), .bytes = memory.size()};
}

Outcome HostGpus::reserve(Pinned what, std::int64_t bytes) {
  auto& memory = m_pinned[static_cast<std::size_t>(what)];
  if (static_cast<std::size_t>(bytes) > memory.size()) {
    memory.assign(static_cast<std::size_t>(bytes), std::byte{0xEE});
  }
  return Done{};
}

MemoryRange HostGpus::memory(Pinned what) const {
  const auto& memory = m_pinned[static_cast<std::size_t>(what)];
  return {.data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(memory.data())),
          .bytes = static_cast<std::int64_t>(memory.size())};
}

Outcome HostGpus::pin(std::byte* memory, std::int64_t bytes) {
  if (memory == nullptr || bytes <= 0 ||
      std::find(m_registered.begin(), m_registered.end(), memory) != m_registered.end()) {
    return Error{.code = ErrorCode::internal, .message = "memory is pinned twice"};
  }
  m_registered.push_back(memory);
  Sleepers::shareMemory();
  return Done{};
}

void HostGpus::unpin(std::byte* memory) {
  std::erase(m_registered, memory);
}

Outcome HostGpus::copyTo(int /*device*/, void* to, const void* host, std::int64_t bytes) {
  if (bytes > 0) {
    std::memcpy(to, host, static_cast<std::size_t>(bytes));
  }
  return Done{};
}

Outcome HostGpus::copyFrom(int /*device*/, void* host, const void* from, std::int64_t bytes) {
  if (bytes > 0) {
    std::memcpy(host, from, static_cast<std::size_t>(bytes));
  }
  return Done{};
}

Outcome HostGpus::fill(int /*device*/, void* memory, int value, std::int64_t bytes) {
  if (bytes > 0) {
    std::memset(memory, value, static_cast<std::size_t>(bytes));
  }
  return Done{};
}

Outcome HostGpus::zeroWords(int /*device*/, Word* first, std::int64_t stride, std::int64_t count) {
  for (std::int64_t word = 0; word < count; ++word) {
    first[word * stride] = 0;
  }
  return Done{};
}

// ---- memory of other processes

Result<ArenaTicket> HostGpus::offer(int device, Arena arena) {
  const SegmentAddress& address = m_arenas[device][at(arena)].address();
  ArenaTicket ticket;
  static_assert(sizeof(address.pid) + sizeof(address.descriptor) <= sizeof(ticket.bytes));
  std::memcpy(ticket.bytes.data(), &address.pid, sizeof(address.pid));
  std::memcpy(ticket.bytes.data() + sizeof(address.pid), &address.descriptor, sizeof(address.descriptor));
  return ticket;
}

Result<unsigned char*> HostGpus::take(int /*device*/, const ArenaTicket& ticket, std::int64_t bytes) {
  if (!m_options.maps) {
    return Error{.code = ErrorCode::unavailable, .message = "memory of other processes is not mapped here"};
  }
  SegmentAddress address;
  std::memcpy(&address.pid, ticket.bytes.data(), sizeof(address.pid));
  std::memcpy(&address.descriptor, ticket.bytes.data() + sizeof(address.pid), sizeof(address.descriptor));
  auto opened = SharedSegment::open(address, bytes);
  if (!opened) {
    return opened.error();
  }
  Sleepers::shareMemory();
  auto* data = reinterpret_cast<unsigned char*>(opened->data());
  m_taken.emplace(data, *std::move(opened));
  return data;
}

void HostGpus::giveBack(int /*device*/, unsigned char* memory) {
  m_taken.erase(memory);
}

// ---- runs

void HostGpus::enqueue(int slot, std::function<void()> work) {
  {
    const std::lock_guard lock(m_mutex);
    ++m_pending[slot];
    m_queue.emplace_back(slot, std::move(work));
  }
  m_changed.notify_all();
}

/// One after the other, as in a stream.
void HostGpus::serve() {
  std::unique_lock lock(m_mutex);
  while (true) {
    m_changed.wait(lock, [this] { return m_isClosing || !m_queue.empty(); });
    if (m_queue.empty()) {
      return;
    }
    const auto slot = static_cast<std::size_t>(m_queue.front().first);
    const auto work = std::move(m_queue.front().second);
    m_queue.pop_front();
    lock.unlock();
    work();
    lock.lock();
    m_ends[slot] = Clock::now();
    --m_pending[slot];
  }
}

template <typename SharedMemory, typename Job, typename View, typename Body>
Outcome HostGpus::start(int slot, const std::vector<Job>& jobs, const View& run, Body body) {
  if (++m_launches == m_options.failingLaunch) {
    return Error{.code = ErrorCode::internal, .message = "the launch failed, as it was told to"};
  }
  enqueue(slot, [this, slot, jobs, run, body] {
    m_starts[slot] = Clock::now();
    std::vector<std::unique_ptr<HostBlock<SharedMemory>>> blocks;
    std::vector<std::jthread> threads;
    for (const Job& job : jobs) {
      for (std::size_t view = 0; view < job.count; ++view) {
        blocks.push_back(std::make_unique<HostBlock<SharedMemory>>(m_options.lanes));
        HostBlock<SharedMemory>& block = *blocks.back();
        block.shared.view = job.views[view];
        for (unsigned lane = 0; lane < m_options.lanes; ++lane) {
          threads.emplace_back([&run, &block, body, lane] { body(block, lane, run); });
        }
      }
    }
  });
  return Done{};
}

Outcome HostGpus::launch(int slot, bool /*first*/, DataType type, const std::vector<DeviceJob>& jobs,
                         const RunView& run) {
  return start<Shared>(slot, jobs, run, [type](HostBlock<Shared>& block, unsigned lane, const RunView& shared) {
    withElement(type, [&](auto element) {
      HostMachine machine(block, lane, shared);
      runBlock<decltype(element)>(machine, shared);
    });
  });
}

Outcome HostGpus::launch(int slot, bool /*first*/, DataType type, const std::vector<PlanJob>& jobs,
                         const PlanRun& run) {
  return start<PlanShared>(slot, jobs, run, [type](HostBlock<PlanShared>& block, unsigned lane, const PlanRun& shared) {
    withElement(type, [&](auto element) {
      HostPlanMachine machine(block, lane, shared);
      runPlanBlock<decltype(element)>(machine, shared);
    });
  });
}

Outcome HostGpus::divide(int slot, DataType type, const std::vector<Division>& divisions, int divisor) {
  enqueue(slot, [type, divisions, divisor] {
    for (const Division& division : divisions) {
      divideBytes(type, reinterpret_cast<std::byte*>(division.data), division.elements * elementBytes(type), divisor);
    }
  });
  return Done{};
}

Result<bool> HostGpus::isDone(int slot) {
  const std::lock_guard lock(m_mutex);
  return std::all_of(m_pending.begin(), m_pending.begin() + slot + 1, [](int pending) { return pending == 0; });
}

Result<double> HostGpus::seconds(int from, int to) {
  const std::lock_guard lock(m_mutex);
  return std::chrono::duration<double>(m_ends[to] - m_starts[from]).count();
}

void HostGpus::wake(const Word* word) {
  Sleepers::call(word);
}

std::unique_ptr<Backend> hostBackend(const Plan& plan, HostOptions options) {
  const Tuning tuning = {.deadlockSeconds = options.deadlockSeconds, .maxStrands = options.strands};
  auto backend = makeSoloBackend(std::make_unique<HostGpus>(std::move(options)), plan.rankCount(), tuning);
  return backend ? *std::move(backend) : nullptr;
}

Result<std::unique_ptr<Backend>> hostPlanBackend(std::shared_ptr<const mscclpp::ExecutionPlan> plan,
                                                 HostOptions options) {
  const Tuning tuning = {.deadlockSeconds = options.deadlockSeconds};
  return makeGpuPlanBackend(std::make_unique<HostGpus>(std::move(options)), std::move(plan), tuning);
}

}  // namespace coppice::executor::cuda::test
