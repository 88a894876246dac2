import {useQuery} from "@tanstack/react-query";
import {useMemo} from "react";

import {Loading, Trouble} from "../../../ui/words";
import {RunCharts} from "../../run_charts";
import {keysQuery} from "../ask";
import type {ComparedRun} from "./index";

export function Charts(props: {
  runs: readonly ComparedRun[];
  focus: string | null;
  setFocus: (id: string | null) => void;
}) {
  const runs = useMemo(
    () => props.runs.map(({run, label, slot}) => ({id: run.id, label, slot})),
    [props.runs],
  );
  const ids = runs.map((one) => one.id);
  const query = useQuery(keysQuery(ids));
  const keys = useMemo(
    () => (query.data ?? []).filter((one) => one.kind === "metric").map((one) => one.key as string),
    [query.data],
  );
  if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!query.data && ids.length > 0) return <Loading what="the metrics of these runs" />;
  return (
    <RunCharts
      runs={runs}
      keys={keys}
      live={props.runs.some(({run}) => run.status === "running")}
      focus={props.focus}
      onFocus={props.setFocus}
      none="None of these runs has a metric"
    />
  );
}
