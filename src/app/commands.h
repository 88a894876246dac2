// The commands that act on this machine; each returns the exit code.
#pragma once

#include "base/result.h"
#include "cli/local.h"

namespace hearth::app {

int up(const cli::UpArgs& args);
int down(const cli::DownArgs& args);
int shim(const cli::ShimArgs& args);
int restore(const cli::RestoreArgs& args);
int salvage(const cli::BackupArgs& args);
int token_add_data(const cli::TokenAddArgs& args);
int doctor(const cli::DoctorArgs& args, bool json);
int openapi();
Result<int> simulate(const cli::SimulateArgs& args, bool json);
Result<int> import_mlflow(const cli::ImportArgs& args, const cli::Globals& globals);

// "error: ..." and the mend to stderr; the exit code of the error.
int fail(const Error& error);

}  // namespace hearth::app
