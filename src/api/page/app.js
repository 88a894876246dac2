// The state of things: jobs as they change, and one of them with its phases, curves and log.
// Everything that users wrote goes in by textContent.
import {draw} from "/assets/chart.js";
import {short, span} from "/assets/format.js";

const HEALTH_SECONDS = 10;
const PAGE = 50, MOST_CHARTS = 6, MOST_LINES = 1000, POINTS = 400;
const ENDED = new Set(["succeeded", "failed", "cancelled"]);
const el = (id) => document.getElementById(id);
const jobs = new Map();  // id -> {job, row}
const known = {metrics: new Map(), version: new Map()};
let chosen = "", cursor = "", logs = null, lines = [], ticking = 0;

class Refused extends Error {}

async function api(path, options = {}) {
  const answer = await fetch("/api/v1/" + path, options);
  if (answer.status === 401) location.replace("/sign-in");
  if (answer.status === 204) return null;
  const body = await answer.json();
  if (!answer.ok) throw new Refused(body.detail + (body.mend ? ` (${body.mend})` : ""));
  return body;
}

function say(text) {
  el("notice").textContent = text;
  el("notice").hidden = text === "";
}
const trying = (work) => work().then(() => say(""), (error) =>
  say(error instanceof Refused ? error.message : "The server does not answer: " + error.message));

const since = (time, until) =>
  ((until ? Date.parse(until) : Date.now()) - Date.parse(time)) / 1000;

function make(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// What stands under a job's name: why it waits, how it failed, or how far it is.
function news(job) {
  if (job.failure) return job.failure.text;
  if (job.stop_asked_at && !ENDED.has(job.state)) return "is being stopped";
  if (job.reason && job.reason.text) return job.reason.text;
  const metrics = Object.entries(known.metrics.get(job.run_id) || {});
  if (metrics.length === 0) return "";
  const step = Math.max(...metrics.map(([, m]) => m.step));
  return `step ${step}  ` + metrics.slice(0, 3).map(([k, m]) => `${k} ${short(m.value)}`).join("  ");
}

function lasted(job) {
  if (job.finished_at) return span(since(job.started_at || job.created_at, job.finished_at));
  return job.started_at ? span(since(job.started_at)) : "waits " + span(since(job.created_at));
}

function showRow(entry) {
  const {job, row} = entry;
  row.firstChild.setAttribute("aria-current", String(job.id === chosen));
  const [name, state, text, time] = row.firstChild.children;
  name.textContent = job.name;
  state.textContent = job.state;
  state.className = "state " + job.state;
  text.textContent = news(job);
  time.textContent = lasted(job);
}

function takeJob(job, atEnd) {
  let entry = jobs.get(job.id);
  if (!entry) {
    const row = make("li"), button = make("button", "card");
    button.type = "button";
    button.append(make("strong"), make("span"), make("span", "news"), make("span", "quiet time"));
    button.addEventListener("click", () => choose(job.id));
    row.append(button);
    entry = {row};
    jobs.set(job.id, entry);
    if (atEnd) el("jobs").append(row);
    else el("jobs").prepend(row);
  } else if (job.version < entry.job.version) {
    return;
  }
  entry.job = job;
  showRow(entry);
  el("empty").hidden = true;
  if (job.id === chosen) showJob(job);
}

function dropJob(id) {
  const entry = jobs.get(id);
  if (entry) entry.row.remove();
  jobs.delete(id);
  el("empty").hidden = jobs.size > 0;
  if (id === chosen) choose("");
}

async function loadJobs(older) {
  const project = el("project").value;
  const query = new URLSearchParams({limit: PAGE});
  if (project) query.set("project", project);
  if (older) query.set("cursor", cursor);
  const page = await api("jobs?" + query);
  if (!older) {
    jobs.clear();
    el("jobs").replaceChildren();
  }
  for (const job of page.items) takeJob(job, true);
  cursor = page.next_cursor || "";
  el("more").hidden = cursor === "";
  el("empty").hidden = jobs.size > 0;
  if (!older && !jobs.has(chosen)) choose(page.items.length > 0 ? page.items[0].id : "");
}

function showSummary() {
  const counts = new Map();
  for (const {job} of jobs.values()) counts.set(job.state, (counts.get(job.state) || 0) + 1);
  el("summary").textContent = ["running", "queued", "failed"]
    .filter((s) => counts.has(s)).map((s) => `${counts.get(s)} ${s}`).join(", ");
}

function showPhases(job) {
  const all = (job.phases || []).map((p, i, list) => {
    const lasting = i === list.length - 1 && !ENDED.has(job.state);
    return {name: p.name, attempt: p.attempt, lasting,
            seconds: lasting ? Math.max(0, since(p.started_at)) : p.seconds || 0};
  });
  const total = all.reduce((sum, p) => sum + p.seconds, 0) || 1;
  const strip = make("div", "strip"), list = make("ul", "legend");
  for (const phase of all) {
    const piece = make("span", "phase " + phase.name);
    piece.style.flexGrow = String(Math.max(phase.seconds / total, 0.005));
    piece.title = `${phase.name} ${span(phase.seconds)}`;
    strip.append(piece);
    const item = make("li");
    const attempt = phase.attempt > 1 ? ` (try ${phase.attempt})` : "";
    item.append(make("i", "phase " + phase.name), make("span", "", phase.name + attempt),
                make("b", "", span(phase.seconds)));
    list.append(item);
  }
  el("phases").replaceChildren(strip, list);
}

function showJob(job) {
  el("job").hidden = false;
  el("name").textContent = job.name;
  el("state").textContent = job.state;
  el("state").className = "state " + job.state;
  const tries = job.attempts > 1 ? `, try ${job.attempts}` : "";
  el("facts").textContent =
    `${job.project}, by ${job.owner}, ${new Date(job.created_at).toLocaleString()}${tries}`;
  el("cancel").hidden = ENDED.has(job.state);
  el("cancel").disabled = Boolean(job.stop_asked_at);
  const why = job.failure || (ENDED.has(job.state) ? null : job.reason);
  el("why").hidden = !why || !why.text;
  el("why").classList.toggle("bad", Boolean(job.failure));
  el("why-text").textContent = why ? why.text : "";
  el("why-mend").textContent = why ? why.mend || "" : "";
  showPhases(job);
}

// The curves of the chosen run; again every two seconds while it runs.
async function showRun(id) {
  const {job} = jobs.get(id) || {};
  if (!job || !job.run_id) return;
  const run = await api("runs/" + encodeURIComponent(job.run_id));
  known.metrics.set(job.run_id, run.metrics || {});
  showRow(jobs.get(id));
  const order = (key) => (/loss/.test(key) ? 0 : /acc/.test(key) ? 1 : 2);
  const keys = Object.keys(run.metrics || {})
    .sort((a, b) => order(a) - order(b) || a.localeCompare(b)).slice(0, MOST_CHARTS);
  for (const key of keys) {
    if (chosen !== id) return;
    const figure = [...el("charts").children].find((f) => f.dataset.key === key) || make("figure");
    figure.dataset.key = key;
    if (!figure.parentNode) el("charts").append(figure);
    const {step, time} = run.metrics[key];
    if (figure.dataset.newest === step + " " + time) continue;
    const query = new URLSearchParams({key, points: POINTS});
    const history = await api(`runs/${encodeURIComponent(job.run_id)}/metrics?${query}`);
    if (chosen !== id) return;
    draw(figure, key, history.points);
    figure.dataset.newest = step + " " + time;
  }
}

function showLines() {
  const log = el("log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 30;
  log.textContent = lines.join("\n");
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function followLog(id) {
  if (logs) logs.close();
  lines = [];
  showLines();
  if (id === "") return;
  const ranks = new Set();
  let pending = false;
  logs = new EventSource(`/api/v1/jobs/${encodeURIComponent(id)}/logs?follow=1`);
  el("log-state").textContent = "following";
  logs.onmessage = (event) => {
    const line = JSON.parse(event.data);
    ranks.add(line.rank);
    lines.push(ranks.size > 1 ? `[${line.rank}] ${line.text}` : line.text);
    if (lines.length > MOST_LINES) lines.splice(0, lines.length - MOST_LINES);
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; showLines(); });
  };
  logs.addEventListener("end", () => { logs.close(); el("log-state").textContent = "whole"; });
  logs.onerror = () => { el("log-state").textContent = "waiting for the server"; };
  logs.onopen = () => { el("log-state").textContent = "following"; };
}

function choose(id) {
  const before = jobs.get(chosen);
  chosen = id;
  if (before) showRow(before);
  el("job").hidden = id === "";
  el("charts").replaceChildren();
  followLog(id);
  if (id === "") return;
  showRow(jobs.get(id));
  showJob(jobs.get(id).job);
  history.replaceState(null, "", "#" + id);
  trying(() => showRun(id));
}

function listen() {
  const events = new EventSource("/api/v1/events");
  const wanted = new Set();
  events.onopen = () => {
    el("link").textContent = "live";
    el("link").className = "pill live";
    trying(() => loadJobs(false));  // what happened while we were away
  };
  events.onerror = () => {
    el("link").textContent = "reconnecting";
    el("link").className = "pill";
    if (events.readyState === EventSource.CLOSED) trying(() => api("whoami"));
  };
  events.addEventListener("reset", () => trying(() => loadJobs(false)));
  events.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (!event.kind.startsWith("job.")) return;
    if (event.kind === "job.deleted") return dropJob(event.id);
    if (wanted.has(event.id)) return;
    wanted.add(event.id);
    setTimeout(() => { wanted.delete(event.id); trying(() => refresh(event.id)); }, 150);
  };
}

async function refresh(id) {
  const job = await api("jobs/" + encodeURIComponent(id));
  const project = el("project").value;
  if (project === "" || job.project === project) takeJob(job, false);
  if (id === chosen) await showRun(id);
  showSummary();
}

// A server that writes nothing says why, and what to do.
async function showHealth() {
  const status = await api("status");
  el("hurt").hidden = status.ready;
  el("hurt").textContent = status.ready ? "" :
    `Nothing is written: ${status.refusing}${status.mend ? ` (${status.mend})` : ""}`;
}

// Durations grow and curves go on without an event.
function tick() {
  const running = [...jobs.values()].filter(({job}) => !ENDED.has(job.state));
  running.forEach(showRow);
  const entry = jobs.get(chosen);
  if (entry && !ENDED.has(entry.job.state)) showPhases(entry.job);
  showSummary();
  ticking += 1;
  if (!document.hidden && ticking % HEALTH_SECONDS === 0) trying(showHealth);
  if (!document.hidden && ticking % 2 === 0 && entry && entry.job.state === "running")
    trying(() => showRun(chosen));
}

async function begin() {
  const me = await api("whoami");
  el("user").textContent = me.user;
  const projects = await api("projects");
  for (const project of projects.items) {
    const option = make("option", "", project.name);
    option.value = project.name;
    el("project").append(option);
  }
  chosen = location.hash.slice(1);
  await showHealth();
  await loadJobs(false);
  if (jobs.has(chosen)) choose(chosen);
  listen();
  setInterval(tick, 1000);
}

el("project").addEventListener("change", () => trying(() => loadJobs(false)));
el("more").addEventListener("click", () => trying(() => loadJobs(true)));
el("cancel").addEventListener("click", () => trying(async () => {
  el("cancel").disabled = true;
  takeJob(await api(`jobs/${encodeURIComponent(chosen)}/cancel`, {method: "POST"}), false);
}));
el("leave").addEventListener("click", () => trying(async () => {
  await api("sessions", {method: "DELETE"});
  location.replace("/sign-in");
}));
trying(begin);
