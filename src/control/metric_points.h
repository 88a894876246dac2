// The metric points of a run, which ingest and tracking write and records, tracking and jobs read:
// the one thing that they share besides tables and events.
#pragma once

#include "control/ingest/metric_store.h"
