// MLflow's client prints where its own page would show a run ("View run ... at: .../#/experiments/
// 1/runs/2"). Here is where this page shows it; nothing for what is no such link.
export function pathOfMlflowLink(hash: string): string | undefined {
  const [kind, name, below, id] = hash
    .replace(/^#/, "")
    .replace(/[?#].*$/, "")
    .split("/")
    .slice(1);
  if (!name) return undefined;
  if (kind === "experiments" && below === "runs" && id) return `/runs/${id}`;
  if (kind === "experiments")
    return `/runs?${new URLSearchParams({filter: `experiment_id = ${name}`})}`;
  return kind === "models" ? `/models/${name}` : undefined;
}
