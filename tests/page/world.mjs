// Projects, people, data, models and jobs on lent machines, for the stories of more than one file.
import {mkdirSync, writeFileSync} from "node:fs";
import {userInfo} from "node:os";
import {join} from "node:path";
import {deflateSync} from "node:zlib";

import {until} from "./story.mjs";

// The first admin is called as whoever started the server.
export const owner = userInfo().username;
export const options = ["--topology", new URL("topology.yaml", import.meta.url).pathname];

const kSmall = "cpus: 0.1, memory: 64MiB";
const held = (name, resources, more = "") => `hearth: 1
name: ${name}
command: "i=0; while sleep 1; do echo step=$i loss=0.$((900 - i)); i=$((i+1)); done"
resources: {${kSmall}, ${resources}}
${more}`;
const gang = (name, replicas, gpus, more = "") => `hearth: 1
name: ${name}
launch: plain
roles: {worker: {replicas: ${replicas}, command: sleep 9000, resources: {${kSmall}, gpus: ${gpus}}}}
${more}`;
const kModel = (accuracy) => `hearth: 1
name: digits
project: vision
command: "echo step=1 loss=0.4 accuracy=${accuracy}; ls data; mkdir -p out; echo weights ${accuracy} > out/model.txt"
params: {lr: ${accuracy}}
resources: {${kSmall}}
datasets: [{name: clothes@1, at: data}]
outputs: {models: [{path: out/model.txt, name: digits}]}
`;
export const ids = {};

// A picture of one colour, 8 by 8.
function png(red, green, blue) {
  const table = Array.from({length: 256}, (_, n) => {
    for (let k = 0; k < 8; k += 1) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n >>> 0;
  });
  const crc = (bytes) => bytes.reduce((c, byte) => (table[(c ^ byte) & 255] ^ (c >>> 8)) >>> 0, 0xffffffff) ^ 0xffffffff;
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const whole = Buffer.alloc(body.length + 8);
    whole.writeUInt32BE(data.length, 0);
    body.copy(whole, 4);
    whole.writeUInt32BE(crc(body) >>> 0, body.length + 4);
    return whole;
  };
  const head = Buffer.from([0, 0, 0, 8, 0, 0, 0, 8, 8, 2, 0, 0, 0]);
  const row = Buffer.from([0, ...Array(8).fill([red, green, blue]).flat()]);
  const rows = Buffer.concat(Array(8).fill(row));
  const begin = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([begin, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

function folder(server, name, files) {
  const path = join(server.root, name);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(path, file, ".."), {recursive: true});
    writeFileSync(join(path, file), content);
  }
  return path;
}

export function people(server) {
  for (const args of [["vision"], ["cars", "--parent", "vision"], ["speech"]]) server.hearth("project", "add", ...args);
  server.hearth("quota", "set", "vision", "--guarantee", "gpus=6,cpus=64,H100=4", "--limit", "gpus=12");
  server.hearth("quota", "set", "cars", "--guarantee", "gpus=2");
  server.hearth("quota", "set", "speech", "--guarantee", "gpus=1,memory=64GiB", "--limit", "gpus=4", "--weight", "2");
  server.hearth("user", "add", "ann", "--role", "maintainer", "--project", "vision");
  server.hearth("user", "add", "bob", "--role", "viewer", "--project", "speech");
}

export function data(server) {
  const first = {"train/red.png": png(200, 30, 30), "train/blue.png": png(30, 60, 200), "labels.csv": "file,label\nred.png,shirt\nblue.png,coat\n"};
  server.hearth("dataset", "add", folder(server, "clothes-1", first), "--name", "clothes", "--project", "vision", "--tag", "first");
  const more = {...first, "train/green.png": png(20, 160, 60), "notes.txt": "<img src=x onerror=alert(1)>\n"};
  server.hearth("dataset", "add", folder(server, "clothes-2", more), "--name", "clothes", "--project", "vision", "--tag", "latest");
  for (const accuracy of ["0.81", "0.93"]) server.hearth("job", "wait", server.submit(kModel(accuracy)));
  server.hearth("model", "alias", "digits", "prod", "1", "--project", "vision");
}

function work(server) {
  ids.bert = server.submit(gang("bert", 2, 2, "project: vision\npool: train\n"));
  ids.half = server.submit(held("half", "gpus: 1, gpu_share: 0.5, gpu_model: [L4]", "project: speech\n"));
  ids.other = server.submit(held("other-half", "gpus: 1, gpu_share: 0.25, gpu_model: [L4]", "project: speech\n"));
  ids.tune = server.submit(held("tune", "gpus: 2, gpu_model: [H100]", "project: cars\n"));
  ids.wide = server.submit(held("wide", "gpus: 3", "project: speech\n"));
  ids.cpu = server.submit(held("etl", "gpus: 0", "pool: cpu\n"));
  ids.big = server.submit(gang("big", 1, 8, "project: default\n"));
  ids.over = server.submit(held("over", "gpus: 4", "project: speech\n"));
}

export async function prepare(server) {
  people(server);
  data(server);
  work(server);
  for (const id of [ids.bert, ids.half, ids.tune, ids.cpu])
    await until(() => server.json("job", "show", id).state === "running", `${id} runs`);
  server.hearth("node", "cordon", "cpu-2", "--reason", "new disk");
  server.hearth("reservation", "add", "demo", "--node", "small-1", "--for-project", "vision", "--from", "+2h", "--for", "4h");
}

// Signed in as somebody else.
export async function as(story, server, user, options) {
  const page = await story.open(options);
  await page.goto((await server.api("POST", "/api/v1/sign-in-codes", {user})).link);
  await page.getByRole("heading", {name: "Home"}).waitFor();
  return page;
}

export const shows = (locator, text) => locator.getByText(text).first().waitFor();
