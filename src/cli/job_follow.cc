#include "cli/job_follow.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "cli/progress.h"
#include "client/follow.h"
#include "domain/part_done.h"

namespace hearth::cli {
namespace {

constexpr Duration kLookEvery = Duration::millis(500);
constexpr Duration kWordEvery = Duration::seconds(15);  // where no bar is drawn
constexpr int kBarWidth = 20, kNarrowBar = 8;
constexpr int kInterrupted = 130;  // as shells say of SIGINT

char detach_words[512];

// Only what is safe in a handler: the words are ready, nothing is unwound.
void on_interrupt(int) {
  const ssize_t ignored = write(STDERR_FILENO, detach_words, std::strlen(detach_words));
  static_cast<void>(ignored);
  _exit(kInterrupted);
}

// Ctrl-C means "let go", as long as this lives.
class Detach {
 public:
  explicit Detach(const Job& job) {
    const std::string words = format(
        "{}Detached; {} goes on.\n  again: hearth job logs {} --follow\n  end it: hearth job "
        "cancel {}\n",
        screen().error_is_terminal ? "\r\033[K" : "", job.name, job.name, job.name);
    words.copy(detach_words, std::min(words.size(), sizeof detach_words - 1));
    struct sigaction action{};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &before_);
  }
  ~Detach() { sigaction(SIGINT, &before_, nullptr); }
  Detach(const Detach&) = delete;
  Detach& operator=(const Detach&) = delete;

 private:
  struct sigaction before_{};
};

// The bar below the lines: cleared before a line is printed, drawn again after it.
class Below {
 public:
  explicit Below(bool drawn) : drawn_(drawn && screen().error_is_terminal) {}
  ~Below() { clear(); }
  bool drawn() const { return drawn_; }
  void print(std::string_view line) {
    const std::lock_guard lock(mutex_);
    clear();
    put(line);
    std::fflush(stdout);
    draw();
  }
  void say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    clear();
    std::fprintf(stderr, "%s\n", text.c_str());
    draw();
  }
  void set(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
    clear();
    draw();
  }

 private:
  void clear() {
    if (drawn_ && shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }
  void draw() {
    if (!drawn_ || text_.empty()) return;
    std::string text = text_;
    const size_t most = static_cast<size_t>(std::max(20, screen().width - 1));
    if (shown_width(text) > most) text.resize(std::min(text.size(), most));
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
    shown_ = true;
  }
  std::mutex mutex_;
  const bool drawn_;
  bool shown_ = false;
  std::string text_;
};

// Looks at job and run now and then, from a thread and a connection of its own.
class Watcher {
 public:
  Watcher(client::ServerContext context, std::string job_id, Below& below)
      : client_(std::move(context)), job_id_(std::move(job_id)), below_(below) {
    thread_ = std::thread([this] { watch(); });
  }
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      lock.unlock();
      look();
      lock.lock();
      changed_.wait_for(lock, kLookEvery.chrono(), [this] { return stop_; });
    }
  }

  void look() {
    const auto job = client_.get_as<Job>("/api/v1/jobs/" + job_id_);
    if (!job.ok()) return;  // the stream of lines tells of a lost server
    // Numbers in a reason's text change all the time; its code says when it is another one.
    const std::string reason = job->reason ? job->reason->code : "";
    if (job->state != state_ || reason != reason_) {
      state_ = job->state;
      reason_ = reason;
      if (!below_.drawn() && !finished(job->state))
        below_.say(format("hearth: {}{}", word(job->state),
                          reason.empty() ? "" : ": " + printable(job->reason->text)));
    }
    if (job->run_id.empty()) return;
    const auto run = client_.get_as<Run>("/api/v1/runs/" + job->run_id);
    if (!run.ok()) return;
    const Time now = system_clock().now();
    std::string text = progress_text(*job, *run, now);
    if (const auto part = part_done(*run)) {
      const int room = screen().width - static_cast<int>(shown_width(text)) - 4;
      text = bar(part->part, std::clamp(room, kNarrowBar, kBarWidth)) + " " + text;
    }
    if (below_.drawn())
      below_.set(text);
    else if (!run->metrics.empty() && now - last_word_ >= kWordEvery && text != last_text_) {
      last_word_ = now;
      last_text_ = text;
      below_.say("hearth: " + text);
    }
  }

  client::Client client_;
  const std::string job_id_;
  Below& below_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
  // Of the thread alone.
  std::optional<JobState> state_;
  std::string reason_, last_text_;
  Time last_word_;
};

const LatestMetric* metric(const Run& run, std::initializer_list<std::string_view> names,
                           std::string_view part = "") {
  for (const std::string_view name : names)
    if (const auto found = run.metrics.find(std::string(name)); found != run.metrics.end())
      return &found->second;
  if (!part.empty())
    for (const auto& [name, value] : run.metrics)
      if (name.find(part) != std::string::npos) return &value;
  return nullptr;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  if (whole >= 3600) return format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return format("{}:{:02}", whole / 60, whole % 60);
}

std::string line_of(const Node& line, bool many, bool timestamps) {
  std::string text;
  if (const Node* time = line.find("time"); timestamps && time != nullptr) text += time->text + " ";
  if (const Node* rank = line.find("rank"); many && rank != nullptr)
    text += format("[{}] ", rank->text);
  if (const Node* words = line.find("text"); words != nullptr) text += words->text;
  return text + "\n";
}

bool has_many_tasks(const Job& job) {
  int64_t count = 0;
  for (const auto& [name, role] : roles_of(job.spec)) count += role.replicas;
  return count > 1;
}

}  // namespace

std::string progress_text(const Job& job, const Run& run, Time now) {
  std::string text(word(job.state));
  if (job.state == JobState::queued && job.reason) return text + "  " + printable(job.reason->text);
  const auto wanted = epochs_wanted(run);
  int64_t step = -1;
  for (const auto& [name, latest] : run.metrics) step = std::max(step, latest.step);
  if (const LatestMetric* epoch = metric(run, {"epoch"}); epoch != nullptr && wanted)
    text += format("  epoch {:.1f}/{:g}", epoch->value, *wanted);
  else if (step >= 0)
    text += format("  step {}", step);
  const auto part = part_done(run);
  if (part && part->part > 0.02 && job.started_at.micros != 0 && !finished(job.state)) {
    const double spent = (now - job.started_at).seconds();
    text += format("  {} left", clock_text(std::max(0.0, spent * (1 - part->part) / part->part)));
  } else if (job.started_at.micros != 0 && !finished(job.state)) {
    text += "  " + clock_text(std::max(0.0, (now - job.started_at).seconds()));
  }
  if (const LatestMetric* loss = metric(run, {"loss", "train_loss"}, "loss"))
    text += "  loss " + format("{:.4g}", loss->value);
  if (const LatestMetric* accuracy = metric(run, {"accuracy", "acc"}, "acc"))
    text += accuracy->value <= 1 ? format("  acc {:.1f} %", 100 * accuracy->value)
                                 : format("  acc {:.4g}", accuracy->value);
  if (const LatestMetric* rate = metric(run, {}, "_per_second"))
    text += format("  {:.0f}/s", rate->value);
  return text;
}

Result<Job> follow_job(const Globals& globals, const Job& job, const LogView& view) {
  Server server = TRY(Server::open(globals));
  const Detach detach(job);
  Below below(view.bar);
  {
    std::optional<Watcher> watcher;
    if (view.bar) watcher.emplace(server.api().context(), job.id, below);
    client::Query query = view.query;
    query.emplace_back("follow", "1");
    const bool many = has_many_tasks(job);
    client::FollowOptions options;
    options.after = view.after;
    options.take = [&](const client::StreamEvent& event) {
      if (globals.json) {
        below.print(event.data + "\n");
        return true;
      }
      const auto line = parse_json(event.data, client::Client::kMostAnswerBytes);
      if (line.ok()) below.print(line_of(*line, many, view.timestamps));
      return true;
    };
    options.lost = [&](int tries) {
      if (tries == 1) below.say("hearth: the server does not answer; waiting for it");
    };
    TRY(client::follow(server.api(), "/api/v1/jobs/" + job.id + "/logs", query, options));
  }
  return server.api().get_as<Job>("/api/v1/jobs/" + job.id);
}

int exit_of(const Job& job) {
  return job.state == JobState::succeeded ? kExitOk : kExitOtherEnd;
}

void say_end(const Job& job) {
  std::string text = format("{} {}", job.name, word(job.state));
  if (job.started_at.micros != 0 && job.finished_at.micros != 0)
    text += format(" after {}", format_duration(job.finished_at - job.started_at));
  if (job.failure && job.state == JobState::failed) {
    text += format("\n  {}: {}", word(job.failure->failure_class), printable(job.failure->text));
    if (!job.failure->mend.empty()) text += "\n  " + printable(job.failure->mend);
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace hearth::cli
