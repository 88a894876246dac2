// The metric points of a run, which ingest and tracking write and records and tracking read: the
// one thing that they share besides tables and events.
#pragma once

#include "control/ingest/metric_store.h"
