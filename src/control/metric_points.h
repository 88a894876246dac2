// The metric points of a run, which ingest writes and records reads: the one thing that the two
// share besides tables and events.
#pragma once

#include "control/ingest/metric_store.h"
