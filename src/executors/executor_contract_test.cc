// The contract suite on every implementation of this room.
#include "tests/contract/executor_contract.h"

#include "executors/local/local_executor.h"
#include "executors/mock/mock_executor.h"
#include "os/files.h"

namespace hearth::executors {
namespace {

std::unique_ptr<Executor> make_mock() {
  return std::make_unique<MockExecutor>(MockOptions{.nodes = 2, .gpus = 4, .own_thread = true},
                                        system_clock());
}

// A local executor whose directory goes with it.
class WithDirectory : public Executor {
 public:
  WithDirectory(os::TemporaryDirectory place, std::unique_ptr<LocalExecutor> inner)
      : place_(std::move(place)), inner_(std::move(inner)) {}
  Result<void> start(const Launch& launch) override { return inner_->start(launch); }
  Result<void> stop(const std::string& id, Duration grace) override {
    return inner_->stop(id, grace);
  }
  Result<std::vector<Found>> recover() override { return inner_->recover(); }
  Result<void> forget(const std::string& id) override { return inner_->forget(id); }
  void watch(Watcher* watcher) override { inner_->watch(watcher); }
  Result<std::vector<NodeInfo>> topology() override { return inner_->topology(); }
  Capabilities capabilities() override { return inner_->capabilities(); }
  const std::string& path() const { return place_.path(); }

 private:
  os::TemporaryDirectory place_;
  std::unique_ptr<LocalExecutor> inner_;
};

std::unique_ptr<Executor> make_local() {
  auto place = os::TemporaryDirectory::make();
  if (!place.ok()) return nullptr;
  auto inner = LocalExecutor::open({.work_directory = place->path(),
                                    .shim = {HEARTH_TEST_SHIM},
                                    .nvml = "/nowhere/libnvidia-ml.so.1",
                                    .drain_pause = Duration::millis(10)},
                                   system_clock());
  if (!inner.ok()) return nullptr;
  return std::make_unique<WithDirectory>(std::move(place).value(), std::move(inner).value());
}

// The test shim notes its first step once it has set up its signals.
void wait_local(Executor& executor, const Launch& launch) {
  const std::string attempt =
      static_cast<WithDirectory&>(executor).path() + "/" + launch.attempt_id + "/";
  for (const TaskSpec& task : launch.tasks) {
    const std::string history = attempt + task.task_id + "/history";
    for (int i = 0; i < 4000 && !os::status(history).ok(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExecutorContract,
                         ::testing::Values(ExecutorFactory{"mock", make_mock,
                                                           [](Executor&, const Launch&) {}},
                                           ExecutorFactory{"local", make_local, wait_local}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hearth::executors
