// Runs as MLflow's client makes them, for the stories of runs.
const kArchs = ["cnn", "mlp", "vit"];
const kAtOnce = 8;
export const kBegan = 1_760_000_000_000;

const mlflow = (server, call, body) => server.api("POST", `/api/2.0/mlflow/${call}`, body);

// A run, and what it logs: {metrics: {key: [values by step]}, params, tags}.
export async function makeRun(server, experiment, name, {metrics = {}, params = {}, tags = {}, at = 0, parent}) {
  const start = kBegan + at * 60_000;
  const made = await mlflow(server, "runs/create", {
    experiment_id: experiment, run_name: name, start_time: start,
    tags: parent ? [{key: "mlflow.parentRunId", value: parent}] : []});
  const run_id = made.run.info.run_id;
  const pairs = (of) => Object.entries(of).map(([key, value]) => ({key, value: String(value)}));
  const points = Object.entries(metrics).flatMap(([key, values]) =>
    values.map((value, step) => ({key, value, step, timestamp: start + step * 1000})));
  await mlflow(server, "runs/log-batch", {run_id, params: pairs(params), tags: pairs(tags), metrics: points.slice(0, 1000)});
  await mlflow(server, "runs/update", {run_id, status: "FINISHED", end_time: start + 100_000});
  return run_id;
}

export async function experiment(server, name) {
  return (await mlflow(server, "experiments/create", {name})).experiment_id;
}

// `count` runs named NAME-0.. whose last loss is 1 - number/1000, so that the order is known.
export async function makeRuns(server, of, name, count, first = 0) {
  const ids = new Array(count);
  let next = 0;
  const work = async () => {
    for (let i = next++; i < count; i = next++) {
      const number = first + i;
      const loss = 1 - number / 1000;
      ids[i] = await makeRun(server, of, `${name}-${number}`, {
        at: number,
        metrics: {loss: [2, 1.5, loss], "val/acc": [0.1, 0.9, 1 - loss / 2], epoch: [0, 0, 1]},
        params: {arch: kArchs[number % 3], lr: (10 ** -(1 + (number % 4))).toString(), seed: number},
        tags: {team: number % 2 ? "speech" : "vision"},
      });
    }
  };
  await Promise.all(Array.from({length: kAtOnce}, work));
  return ids;
}
