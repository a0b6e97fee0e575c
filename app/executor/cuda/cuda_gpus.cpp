// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_gpus.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "cuda/clock.hpp"
#include "cuda/kernels.hpp"
#include "cuda/runtime.hpp"

namespace coppice::executor::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kOldestCapability = 75;
constexpr std::int64_t kCopyBytes = std::int64_t{512} << 20;
constexpr int kCopyRounds = 5;
constexpr unsigned kClockRounds = 16;
constexpr auto kClockPatience = std::chrono::seconds(1);

std::string gpu(int number) {
  return "GPU " + std::to_string(number);
}

std::size_t at(Arena arena) {
  return static_cast<std::size_t>(arena);
}

/// One GPU and what a run keeps on it.
struct Device {
  explicit Device(int id)
      : number(id), arenas{DeviceMemory(id), DeviceMemory(id), DeviceMemory(id), DeviceMemory(id), DeviceMemory(id)} {}
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  Outcome open();
  [[nodiscard]] Outcome use() const { return checked(cudaSetDevice(number), gpu(number)); }

  int number = 0;
  std::string name;
  int capability = 0;  ///< 90 = 9.0
  cudaStream_t stream = nullptr;
  std::vector<cudaEvent_t> starts;  ///< kBatch each
  std::vector<cudaEvent_t> ends;
  std::array<DeviceMemory, kArenas> arenas;
};

Outcome Device::open() {
  cudaDeviceProp properties = {};
  if (Outcome known = checked(cudaGetDeviceProperties(&properties, number), gpu(number)); !known) {
    return known;
  }
  name = properties.name;
  capability = properties.major * 10 + properties.minor;
  if (capability < kOldestCapability || properties.cooperativeLaunch == 0 || properties.unifiedAddressing == 0 ||
      properties.canMapHostMemory == 0) {
    return Error{.code = ErrorCode::unavailable,
                 .message = gpu(number) + " (" + name + ", compute capability " + std::to_string(properties.major) +
                            "." + std::to_string(properties.minor) + ") cannot run the interpreter, which needs 7.5",
                 .fix = "use a newer GPU, or --backend threads"};
  }
  if (Outcome used = use(); !used) {
    return used;
  }
  if (Outcome made = checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), gpu(number)); !made) {
    return made;
  }
  for (std::vector<cudaEvent_t>* events : {&starts, &ends}) {
    for (int index = 0; index < kBatch; ++index) {
      cudaEvent_t event = nullptr;
      if (Outcome made = checked(cudaEventCreate(&event), gpu(number)); !made) {
        return made;
      }
      events->push_back(event);
    }
  }
  return Done{};
}

Device::~Device() {
  if (stream == nullptr || cudaSetDevice(number) != cudaSuccess) {
    return;
  }
  for (const std::vector<cudaEvent_t>* events : {&starts, &ends}) {
    for (const cudaEvent_t event : *events) {
      cudaEventDestroy(event);
    }
  }
  cudaStreamDestroy(stream);
}

class CudaGpus : public Gpus {
public:
  Outcome open(const std::vector<int>& numbers);

  [[nodiscard]] int count() const override { return static_cast<int>(m_devices.size()); }
  [[nodiscard]] std::string name(int device) const override { return gpu(of(device).number); }
  [[nodiscard]] std::map<std::string, std::string> facts() const override;
  [[nodiscard]] Reach reach() const override { return m_reach; }
  Result<DeviceRoom> load(int device, DataType type, KernelKind which) override;

  Result<std::int64_t> available(int device) override;
  Outcome reserve(int device, Arena arena, std::int64_t bytes) override {
    return of(device).arenas[at(arena)].reserve(bytes);
  }
  void release(int device, Arena arena) override { of(device).arenas[at(arena)].release(); }
  [[nodiscard]] MemoryRange memory(int device, Arena arena) const override {
    const DeviceMemory& memory = of(device).arenas[at(arena)];
    return {.data = memory.data(), .bytes = memory.bytes()};
  }
  Outcome reserve(Pinned what, std::int64_t bytes) override {
    return m_pinned[static_cast<std::size_t>(what)].reserve(bytes);
  }
  [[nodiscard]] MemoryRange memory(Pinned what) const override {
    const PinnedMemory& memory = m_pinned[static_cast<std::size_t>(what)];
    return {.data = memory.data(), .bytes = memory.bytes()};
  }
  Outcome pin(std::byte* memory, std::int64_t bytes) override;
  void unpin(std::byte* memory) override { cudaHostUnregister(memory); }
  Outcome copyTo(int device, void* to, const void* host, std::int64_t bytes) override {
    return copy(device, to, host, bytes, cudaMemcpyHostToDevice, "copy to ");
  }
  Outcome copyFrom(int device, void* host, const void* from, std::int64_t bytes) override {
    return copy(device, host, from, bytes, cudaMemcpyDeviceToHost, "copy from ");
  }
  Outcome fill(int device, void* memory, int value, std::int64_t bytes) override;
  Outcome zeroWords(int device, Word* first, std::int64_t stride, std::int64_t count) override;

  Result<ArenaTicket> offer(int device, Arena arena) override;
  Result<unsigned char*> take(int device, const ArenaTicket& ticket, std::int64_t bytes) override;
  void giveBack(int device, unsigned char* memory) override;

  Outcome launch(int slot, bool first, DataType type, const std::vector<DeviceJob>& jobs, const RunView& run) override {
    return start(slot, first, kernelsOf(static_cast<int>(type)).interpret, jobs, run);
  }
  Outcome launch(int slot, bool first, DataType type, const std::vector<PlanJob>& jobs, const PlanRun& run) override {
    return start(slot, first, kernelsOf(static_cast<int>(type)).interpretPlan, jobs, run);
  }
  Outcome divide(int slot, DataType type, const std::vector<Division>& divisions, int divisor) override;
  Result<bool> isDone(int slot) override;
  Result<double> seconds(int from, int to) override;
  Result<std::int64_t> clockOffset(int device) override;
  double measureCopies(int device) override;
  void forget() override;

private:
  [[nodiscard]] Device& of(int device) const { return *m_devices[device]; }
  Outcome copy(int device, void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
               const std::string& doing);
  template <typename Job, typename View>
  Outcome start(int slot, bool first, const void* kernel, const std::vector<Job>& jobs, const View& run);
  /// The stream of a device continues when the event has come to pass on all others.
  Outcome awaitOthers(const Device& device, int slot, const std::string& doing);

  std::vector<std::unique_ptr<Device>> m_devices;
  Reach m_reach;
  std::array<PinnedMemory, kPinned> m_pinned;
};

Outcome CudaGpus::open(const std::vector<int>& numbers) {
  for (const int number : numbers) {
    m_devices.push_back(std::make_unique<Device>(number));
    if (Outcome opened = m_devices.back()->open(); !opened) {
      return opened;
    }
  }
  for (const auto& from : m_devices) {
    std::vector<bool>& row = m_reach.emplace_back();
    for (const auto& to : m_devices) {
      int can = from == to ? 1 : 0;
      if (from != to && from->use() && cudaDeviceCanAccessPeer(&can, from->number, to->number) == cudaSuccess &&
          can != 0) {
        const cudaError_t enabled = cudaDeviceEnablePeerAccess(to->number, 0);
        can = enabled == cudaSuccess || enabled == cudaErrorPeerAccessAlreadyEnabled ? 1 : 0;
        cudaGetLastError();
      }
      row.push_back(can != 0);
    }
  }
  return Done{};
}

std::map<std::string, std::string> CudaGpus::facts() const {
  std::map<std::string, std::string> facts;
  for (const auto& device : m_devices) {
    facts[gpu(device->number)] = device->name + ", compute capability " + std::to_string(device->capability / 10) +
                                 "." + std::to_string(device->capability % 10);
  }
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess) {
    facts["CUDA driver"] = std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
  }
  facts["CUDA runtime"] = std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
  return facts;
}

Result<DeviceRoom> CudaGpus::load(int device, DataType type, KernelKind which) {
  if (const Outcome used = of(device).use(); !used) {
    return used.error();
  }
  const Kernels kernels = kernelsOf(static_cast<int>(type));
  const std::string doing = "kernels on " + name(device);
  const void* const interpreter = which == KernelKind::plans ? kernels.interpretPlan : kernels.interpret;
  for (const void* kernel : {interpreter, kernels.divide, clockKernel()}) {
    cudaFuncAttributes attributes = {};
    if (const Outcome loaded = checked(cudaFuncGetAttributes(&attributes, kernel), doing); !loaded) {
      return loaded.error();
    }
  }
  DeviceRoom room;
  if (const Outcome known = checked(
          cudaDeviceGetAttribute(&room.multiprocessors, cudaDevAttrMultiProcessorCount, of(device).number), doing);
      !known) {
    return known.error();
  }
  for (std::size_t choice = 0; choice < kThreadChoices.size(); ++choice) {
    if (const Outcome known = checked(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                          &room.blocksEach[choice], interpreter, kThreadChoices[choice], 0),
                                      doing);
        !known) {
      return known.error();
    }
  }
  return room;
}

// ---- memory

Result<std::int64_t> CudaGpus::available(int device) {
  if (const Outcome used = of(device).use(); !used) {
    return used.error();
  }
  std::size_t free = 0;
  std::size_t total = 0;
  if (const Outcome known = checked(cudaMemGetInfo(&free, &total), "memory of " + name(device)); !known) {
    return known.error();
  }
  auto bytes = static_cast<std::int64_t>(free);
  for (const DeviceMemory& arena : of(device).arenas) {
    bytes += arena.bytes();
  }
  return bytes;
}

Outcome CudaGpus::pin(std::byte* memory, std::int64_t bytes) {
  const std::string doing = std::to_string(bytes) + " bytes of shared memory for GPUs";
  if (Outcome pinned = checked(
          cudaHostRegister(memory, static_cast<std::size_t>(bytes), cudaHostRegisterPortable | cudaHostRegisterMapped),
          doing);
      !pinned) {
    return pinned;
  }
  for (const auto& device : m_devices) {
    void* seen = nullptr;
    if (!device->use() || cudaHostGetDevicePointer(&seen, memory, 0) != cudaSuccess || seen != memory) {
      cudaGetLastError();
      unpin(memory);
      return Error{.code = ErrorCode::unavailable,
                   .message = gpu(device->number) + " does not see shared memory at the host's address",
                   .fix = "run all ranks in one process"};
    }
  }
  return Done{};
}

// Everything goes through the device's own stream: it does not wait for the default stream, in which a copy may still
// be under way when the call has returned.
Outcome CudaGpus::copy(int device, void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
                       const std::string& doing) {
  if (Outcome used = of(device).use(); !used || bytes == 0) {
    return used;
  }
  cudaError_t error = cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, of(device).stream);
  if (error == cudaSuccess) {
    error = cudaStreamSynchronize(of(device).stream);
  }
  return checked(error, doing + name(device));
}

Outcome CudaGpus::fill(int device, void* memory, int value, std::int64_t bytes) {
  if (Outcome used = of(device).use(); !used || bytes == 0) {
    return used;
  }
  return checked(cudaMemsetAsync(memory, value, static_cast<std::size_t>(bytes), of(device).stream),
                 "memory of " + name(device));
}

Outcome CudaGpus::zeroWords(int device, Word* first, std::int64_t stride, std::int64_t count) {
  if (Outcome used = of(device).use(); !used || count == 0) {
    return used;
  }
  return checked(cudaMemset2DAsync(first, static_cast<std::size_t>(stride) * sizeof(Word), 0, sizeof(Word),
                                   static_cast<std::size_t>(count), of(device).stream),
                 "memory of " + name(device));
}

// ---- memory of other processes

Result<ArenaTicket> CudaGpus::offer(int device, Arena arena) {
  if (const Outcome used = of(device).use(); !used) {
    return used.error();
  }
  cudaIpcMemHandle_t handle = {};
  if (const Outcome made = checked(cudaIpcGetMemHandle(&handle, of(device).arenas[at(arena)].data()),
                                   "sharing memory of " + name(device));
      !made) {
    return made.error();
  }
  ArenaTicket ticket;
  static_assert(sizeof(handle) <= sizeof(ticket.bytes));
  std::memcpy(ticket.bytes.data(), &handle, sizeof(handle));
  return ticket;
}

/// The memory may belong to a GPU that this process cannot name; the driver enables access to it, or refuses.
Result<unsigned char*> CudaGpus::take(int device, const ArenaTicket& ticket, std::int64_t /*bytes*/) {
  if (const Outcome used = of(device).use(); !used) {
    return used.error();
  }
  cudaIpcMemHandle_t handle = {};
  std::memcpy(&handle, ticket.bytes.data(), sizeof(handle));
  void* memory = nullptr;
  if (const Outcome opened = checked(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
                                     "memory of another process on " + name(device));
      !opened) {
    return opened.error();
  }
  return static_cast<unsigned char*>(memory);
}

void CudaGpus::giveBack(int device, unsigned char* memory) {
  if (of(device).use()) {
    cudaIpcCloseMemHandle(memory);
    cudaGetLastError();  // its owner may have died
  }
}

// ---- runs

Outcome CudaGpus::awaitOthers(const Device& device, int slot, const std::string& doing) {
  for (const auto& other : m_devices) {
    if (other.get() == &device) {
      continue;
    }
    if (Outcome waits = checked(cudaStreamWaitEvent(device.stream, other->ends[slot], 0), doing); !waits) {
      return waits;
    }
  }
  return Done{};
}

/// Run by the kernel with the views of the job and what all its blocks share.
template <typename Job, typename View>
Outcome CudaGpus::start(int slot, bool first, const void* kernel, const std::vector<Job>& jobs, const View& run) {
  const auto index = static_cast<std::size_t>(slot);
  for (int device = 0; device < count(); ++device) {
    const Device& own = of(device);
    const Job& job = jobs[device];
    const std::string doing = "launch on " + name(device);
    if (Outcome used = own.use(); !used) {
      return used;
    }
    if (!first) {
      if (Outcome waits = awaitOthers(own, slot - 1, doing); !waits) {
        return waits;
      }
    }
    if (Outcome recorded = checked(cudaEventRecord(own.starts[index], own.stream), doing); !recorded) {
      return recorded;
    }
    if (job.count > 0) {
      auto* views = job.views;
      View view = run;
      void* arguments[] = {&views, &view};
      if (Outcome launched = checked(
              cudaLaunchCooperativeKernel(kernel, dim3(static_cast<unsigned>(job.count)),
                                          dim3(static_cast<unsigned>(job.threads)), arguments, 0, own.stream),
              doing + " of " + std::to_string(job.count) + " blocks of " + std::to_string(job.threads) + " threads");
          !launched) {
        return launched;
      }
    }
    if (Outcome recorded = checked(cudaEventRecord(own.ends[index], own.stream), doing); !recorded) {
      return recorded;
    }
  }
  return Done{};
}

/// Other devices may read a result until their own blocks have ended.
Outcome CudaGpus::divide(int slot, DataType type, const std::vector<Division>& divisions, int divisor) {
  constexpr unsigned kThreads = 256;
  constexpr std::int64_t kMaxBlocks = 1024;
  for (int device = 0; device < count(); ++device) {
    if (Outcome used = of(device).use(); !used) {
      return used;
    }
    if (Outcome waits = awaitOthers(of(device), slot, "launch on " + name(device)); !waits) {
      return waits;
    }
  }
  for (const Division& division : divisions) {
    const Device& own = of(division.device);
    if (Outcome used = own.use(); !used) {
      return used;
    }
    unsigned char* data = division.data;
    long long elements = division.elements;
    int by = divisor;
    void* arguments[] = {&data, &elements, &by};
    const std::int64_t blocks = std::min<std::int64_t>(kMaxBlocks, (elements + kThreads - 1) / kThreads);
    if (Outcome launched =
            checked(cudaLaunchKernel(kernelsOf(static_cast<int>(type)).divide, dim3(static_cast<unsigned>(blocks)),
                                     dim3(kThreads), arguments, 0, own.stream),
                    "launch on " + name(division.device));
        !launched) {
      return launched;
    }
  }
  for (int device = 0; device < count(); ++device) {
    if (Outcome used = of(device).use(); !used) {
      return used;
    }
    if (Outcome recorded =
            checked(cudaEventRecord(of(device).ends[slot], of(device).stream), "launch on " + name(device));
        !recorded) {
      return recorded;
    }
  }
  return Done{};
}

Result<bool> CudaGpus::isDone(int slot) {
  for (const auto& device : m_devices) {
    const cudaError_t state = cudaEventQuery(device->ends[slot]);
    if (state == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    if (const Outcome fine = checked(state, "run on " + gpu(device->number)); !fine) {
      return fine.error();
    }
  }
  return true;
}

Result<double> CudaGpus::seconds(int from, int to) {
  double slowest = 0;
  for (const auto& device : m_devices) {
    float milliseconds = 0;
    if (const Outcome timed =
            checked(cudaEventElapsedTime(&milliseconds, device->starts[from], device->ends[to]), "timing");
        !timed) {
      return timed.error();
    }
    slowest = std::max(slowest, static_cast<double>(milliseconds) * 1e-3);
  }
  return slowest;
}

/// Asks the device for its time again and again: the answer that came soonest was read about half way between question
/// and answer.
Result<std::int64_t> CudaGpus::clockOffset(int device) {
  const Device& own = of(device);
  if (const Outcome used = own.use(); !used) {
    return used.error();
  }
  PinnedMemory memory;
  if (const Outcome reserved = memory.reserve(3 * std::int64_t{sizeof(Word)}); !reserved) {
    return reserved.error();
  }
  auto* const words = reinterpret_cast<Word*>(memory.data());
  const std::atomic_ref<Word> question(words[0]);
  const std::atomic_ref<Word> answered(words[1]);
  const std::atomic_ref<Word> time(words[2]);
  question.store(0);
  answered.store(0);
  Word* argument = words;
  unsigned rounds = kClockRounds;
  void* arguments[] = {&argument, &rounds};
  const std::string doing = "clock of " + name(device);
  if (const Outcome launched =
          checked(cudaLaunchKernel(clockKernel(), dim3(1), dim3(1), arguments, 0, own.stream), doing);
      !launched) {
    return launched.error();
  }
  const auto nanoseconds = [](Clock::time_point point) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(point.time_since_epoch()).count();
  };
  std::optional<std::int64_t> offset;
  Clock::duration soonest = Clock::duration::max();
  for (Word round = 1; round <= rounds; ++round) {
    const Clock::time_point asked = Clock::now();
    question.store(round);
    Clock::time_point heard = asked;
    while (answered.load() < round && heard - asked < kClockPatience) {
      heard = Clock::now();
    }
    heard = Clock::now();
    if (answered.load() < round) {
      break;
    }
    if (heard - asked < soonest) {
      soonest = heard - asked;
      offset = nanoseconds(asked + (heard - asked) / 2) - static_cast<std::int64_t>(time.load());
    }
  }
  question.store(rounds);
  if (const Outcome ended = checked(cudaStreamSynchronize(own.stream), doing); !ended) {
    return ended.error();
  }
  if (!offset) {
    return Error{.code = ErrorCode::unavailable, .message = doing + " does not answer"};
  }
  return *offset;
}

double CudaGpus::measureCopies(int device) {
  const Device& own = of(device);
  std::size_t free = 0;
  std::size_t total = 0;
  if (!own.use() || cudaMemGetInfo(&free, &total) != cudaSuccess) {
    return 0;
  }
  const std::int64_t bytes = std::min(kCopyBytes, static_cast<std::int64_t>(free / 4));
  DeviceMemory from(own.number);
  DeviceMemory to(own.number);
  if (bytes == 0 || !from.reserve(bytes) || !to.reserve(bytes) || !fill(device, from.data(), 1, bytes)) {
    return 0;
  }
  double best = 0;
  for (int round = 0; round <= kCopyRounds; ++round) {  // the first warms up
    float milliseconds = 0;
    if (cudaEventRecord(own.starts[0], own.stream) != cudaSuccess ||
        cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                        own.stream) != cudaSuccess ||
        cudaEventRecord(own.ends[0], own.stream) != cudaSuccess || cudaEventSynchronize(own.ends[0]) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, own.starts[0], own.ends[0]) != cudaSuccess) {
      return 0;
    }
    if (round > 0 && milliseconds > 0) {
      best = std::max(best, 2.0 * static_cast<double>(bytes) / (static_cast<double>(milliseconds) * 1e-3));
    }
  }
  return best;
}

void CudaGpus::forget() {
  for (const auto& device : m_devices) {
    device->stream = nullptr;
    for (DeviceMemory& memory : device->arenas) {
      memory.forget();
    }
  }
  for (PinnedMemory& memory : m_pinned) {
    memory.forget();
  }
}

}  // namespace

Result<int> countGpus() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "no NVIDIA driver is installed (libcuda.so.1 is missing)",
                 .fix = "install the driver, or use --backend threads"};
  }
  if (error == cudaErrorInsufficientDriver) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "the NVIDIA driver knows CUDA " + std::to_string(driver / 1000) + "." +
                            std::to_string(driver % 1000 / 10) + ", and this build needs " +
                            std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10),
                 .fix = "install a newer driver, or build with an older CUDA toolkit"};
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "there is an NVIDIA driver, but no GPU that this process may use",
                 .fix = "look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use --backend threads"};
  }
  if (error != cudaSuccess) {
    return describeCuda(error, "GPUs of this machine");
  }
  return count;
}

Result<std::string> identityOf(int number) {
  cudaDeviceProp properties = {};
  if (const Outcome known = checked(cudaGetDeviceProperties(&properties, number), gpu(number)); !known) {
    return known.error();
  }
  return std::string(properties.uuid.bytes, sizeof(properties.uuid.bytes));
}

std::string describeGpus(int count) {
  cudaDeviceProp properties = {};
  std::string text = std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
  if (cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
    text += std::string(count == 1 ? ": " : ", the first: ") + properties.name;
  }
  return text;
}

Result<std::unique_ptr<Gpus>> openGpus(const std::vector<int>& numbers) {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (numbers.size() > 1 && blocking != nullptr && std::string_view(blocking) == "1") {
    return Error{
        .code = ErrorCode::unavailable,
        .message = "CUDA_LAUNCH_BLOCKING=1 makes each GPU wait for the previous one, and the GPUs wait for each other",
        .fix = "unset it, or use one GPU"};
  }
  auto gpus = std::make_unique<CudaGpus>();
  if (const Outcome opened = gpus->open(numbers); !opened) {
    return opened.error();
  }
  return std::unique_ptr<Gpus>(std::move(gpus));
}

}  // namespace coppice::executor::cuda
