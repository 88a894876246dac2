#include "db/sqlite/readers.h"

#include "base/format.h"

namespace hearth::db {

class Readers::Lease {
 public:
  Lease(Readers& pool, std::unique_ptr<Connection> connection)
      : pool_(pool), connection_(std::move(connection)) {}
  Lease(const Lease&) = delete;
  ~Lease() { pool_.give_back(std::move(connection_)); }
  Connection& operator*() { return *connection_; }

 private:
  Readers& pool_;
  std::unique_ptr<Connection> connection_;
};

Readers::Readers(std::string path, std::string vfs, size_t bound, Health& health, Stats& stats)
    : path_(std::move(path)), vfs_(std::move(vfs)), bound_(bound), health_(health), stats_(stats) {
  stats_.readers_bound.set(static_cast<double>(bound_));
}

Result<void> Readers::read(const Work& work) {
  Lease lease(*this, TRY(take()));
  Connection& connection = *lease;
  TRY(connection.control("BEGIN"));
  auto result = work(connection);
  if (connection.statement_failed() && result.ok())
    result = Error::internal("a work succeeded after one of its statements had failed");
  connection.forget_failure();
  if (connection.in_transaction()) ignore(connection.control("ROLLBACK"));
  return result;
}

Result<std::unique_ptr<Connection>> Readers::take() {
  {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, kWaitBound.chrono(), [&] { return taken_ < bound_; }))
      return Error::of(Code::busy, format("all {} read connections are in use", bound_));
    stats_.readers.set(static_cast<double>(++taken_));
    if (!free_.empty()) {
      auto connection = std::move(free_.back());
      free_.pop_back();
      return connection;
    }
  }
  auto opened = Connection::open(path_, Access::read, vfs_, health_);
  if (!opened.ok()) give_back(nullptr);
  return opened;
}

void Readers::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    if (connection != nullptr) free_.push_back(std::move(connection));
    stats_.readers.set(static_cast<double>(--taken_));
  }
  freed_.notify_one();
}

}  // namespace hearth::db
