"""What schemathesis cannot know: whose token, which things there are, and what a free text means.

Random names find nothing, so half of the well-formed requests name real things; what a call uses
up (a job to delete, a token to revoke) is made for it. Where a text has a grammar that no schema
tells, the random text becomes a part of a sentence of it. No call may end the run's own session.
HEARTH_WORLD: the file of prepare.py's world. HEARTH_ANSWERS: where to write which operation was
answered what.
"""
import atexit
import collections
import hashlib
import itertools
import json
import os
import time

import requests
import schemathesis
from schemathesis.transport.serialization import Binary

with open(os.environ["HEARTH_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)
NUMBERS = itertools.count(1)
DEAR = 30  # calls for which a job is run until it ends
ANSWERS = collections.defaultdict(collections.Counter)
CALLS = collections.Counter()
SESSION = requests.Session()
SESSION.trust_env = False


@atexit.register
def write_answers():
    with open(os.environ["HEARTH_ANSWERS"], "w", encoding="utf-8") as out:
        json.dump(ANSWERS, out)


@schemathesis.serializer("application/x-hearth-sync")
def sync(ctx, value):
    del ctx
    return value.data if isinstance(value, Binary) else str(value).encode(errors="replace")


@schemathesis.auth(refresh_interval=None)
class Tokens:
    """The admin's token; a task's own for what only its shim may call."""

    def get(self, case, context):
        del context
        return WORLD["task_token" if operation_id(case) == "syncTask" else "token"]

    def set(self, case, data, context):
        del context
        case.headers["Authorization"] = f"Bearer {data}"


def operation_id(case):
    return case.operation.definition.raw["operationId"]


def ask(method, path, body=None, **options):
    answer = SESSION.request(method, WORLD["url"] + path, json=body, timeout=30,
                             headers={"Authorization": "Bearer " + WORLD["token"]}, **options)
    answer.raise_for_status()
    return answer.json() if answer.content else None


def name(stem):
    return f"{stem}-{next(NUMBERS)}"


# --- things that a call uses up

def job_file(script, more=""):
    return (f'hearth: 1\nname: mock\ncommand: "true"\nenv: {{MOCK_TASK: "{script}"}}\n'
            f"resources: {{cpus: 0.05, memory: 16MiB}}\n{more}")


def new_job(script, more=""):
    return ask("POST", "/api/v1/jobs", {"yaml": job_file(script, more)})["id"]


def ended_job():
    job = new_job("run=0s prepare=0s")
    until = time.monotonic() + 60
    while ask("GET", f"/api/v1/jobs/{job}")["state"] not in ("succeeded", "failed"):
        assert time.monotonic() < until, "a job of the mock executor does not end"
        time.sleep(0.01)
    return job


def running_job():
    return new_job("end=hangs", "params: {lr: {value: 0.1, live: true, min: 0.001, max: 1}}\n")


def running_run():
    return ask("GET", f"/api/v1/jobs/{running_job()}")["run_id"]


def new_token():
    return ask("POST", "/api/v1/tokens", {"name": name("spare")})["about"]["id"]


def new_user():
    return ask("POST", "/api/v1/users", {"name": name("user")})["user"]["name"]


def new_project():
    return ask("POST", "/api/v1/projects", {"name": name("project")})["name"]


def new_secret():
    secret = f"KEY_{next(NUMBERS)}"
    ask("PUT", f"/api/v1/projects/default/secrets/{secret}", {"value": "v"})
    return secret


def manifest():
    return {"files": [{"path": name("file"), "digest": WORLD["digest"],
                       "size_bytes": WORLD["size"]}]}


def new_dataset():
    dataset = name("data")
    ask("POST", f"/api/v1/datasets/{dataset}/versions", {"manifest": manifest()})
    return dataset


def new_upload(whole=False):
    data = f"upload {next(NUMBERS)}".encode()
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    upload = ask("POST", "/api/v1/uploads", {"digest": digest, "size_bytes": len(data)})["id"]
    if whole:
        SESSION.patch(f"{WORLD['url']}/api/v1/uploads/{upload}", data=data, timeout=30, headers={
            "Authorization": "Bearer " + WORLD["token"], "Upload-Offset": "0",
            "Content-Type": "application/octet-stream"}).raise_for_status()
    return upload


def put_away_backup():
    backup = name("backup")
    SESSION.get(WORLD["url"] + "/api/v1/backup", params={"id": backup}, timeout=120, headers={
        "Authorization": "Bearer " + WORLD["token"]}).raise_for_status()
    return {"id": backup, "path": "/backups/" + backup}


def reservation():
    """Of a node, and so far away that no job is kept from it."""
    return {"name": name("reservation"), "nodes": [WORLD["node"]], "maintenance": True,
            "from": "2999-01-01T00:00:00Z", "until": "2999-01-02T00:00:00Z"}


def new_reservation():
    return ask("POST", "/api/v1/reservations", reservation())["name"]


def view():
    return {"name": name("view"), "page": "runs", "project": "default", "shared": True}


def new_view():
    return ask("POST", "/api/v1/views", view())["id"]


def new_code():
    return ask("POST", "/api/v1/sign-in-codes", {})["link"].split("#")[1]


def imported_run():
    run = "r" + name("run").replace("-", "")
    ask("POST", "/api/v1/imports/runs", {"id": run, "experiment_id": "0"})
    return run


def imported_model():
    model = name("imported")
    ask("POST", "/api/v1/imports/models", {"name": model})
    return model


# --- a request that means something

# Of a path parameter: what stands there, in this operation or in any.
PATHS = {
    ("cancelJob", "job"): running_job, ("setLive", "job"): running_job,
    ("setRunLive", "run"): running_run,
    ("retryJob", "job"): ended_job, ("deleteJob", "job"): ended_job,
    ("deleteDataset", "dataset"): new_dataset, ("createDatasetVersion", "dataset"): new_dataset,
    ("deleteProject", "project"): new_project, ("deleteSecret", "secret"): new_secret,
    ("finishUpload", "upload"): lambda: new_upload(whole=True),
    ("setSecret", "secret"): lambda: "KEY",
    "job": lambda: WORLD["job"], "run": lambda: WORLD["run"], "task": lambda: WORLD["task"],
    "model": lambda: WORLD["model"], "dataset": lambda: WORLD["dataset"], "version": lambda: "1",
    "alias": lambda: "best", "digest": lambda: WORLD["digest"], "path": lambda: WORLD["path"],
    "node": lambda: WORLD["node"], "pool": lambda: WORLD["pool"], "reservation": new_reservation,
    "project": lambda: "default", "token": new_token, "user": new_user, "upload": new_upload,
    "view": new_view,
}
BODIES = {
    "createJob": lambda: {"yaml": job_file("run=0s")},
    "checkJob": lambda: {"yaml": job_file("run=0s")},
    "createSession": lambda: {"token": WORLD["token"]},
    "createSignInCode": dict,
    "redeemSignInCode": lambda: {"code": new_code(), "name": name("token")},
    "createReservation": reservation,
    "setQuota": lambda: {"weight": 2, "guaranteed": {"cpus": 1}},
    "setPool": lambda: {"description": "all there is"},
    "cordonNode": lambda: {"reason": "new disk"}, "drainNode": lambda: {"reason": "new fan"},
    "moveNode": lambda: {"pool": ""},
    "createToken": lambda: {"name": name("token")},
    "createUser": lambda: {"name": name("user"), "role": "viewer"},
    "createProject": lambda: {"name": name("project")},
    "createDatasetVersion": lambda: {"manifest": manifest(), "tags": ["new"]},
    "setLive": lambda: {"values": {"lr": 0.5}}, "setRunLive": lambda: {"values": {"lr": 0.5}},
    "keepBackup": put_away_backup,
    "retryJob": dict, "createView": view,
    "queryMetrics": lambda: {"runs": [WORLD["run"]], "keys": ["loss"]},
    "setModelAlias": lambda: {"number": 1},
    "appendUpload": lambda: "upload",
    "syncTask": lambda: json.dumps({"protocol": 1, "epoch": WORLD["epoch"], "states": [
        {"seq": 1, "time": "2026-01-01T00:00:00Z", "state": "preparing"}]}) + "\n",
    "haveObjects": lambda: {"digests": [WORLD["digest"]]},
    "importRun": lambda: {"id": name("run"), "experiment_id": "0", "params": {"lr": "0.1"}},
    "importLoggedModel": lambda: {"id": name("m"), "experiment_id": "0", "name": "net"},
    "importModel": lambda: {"name": name("imported"), "tags": {"team": "vision"}},
    "importModelVersion": lambda: {"model": imported_model(), "number": 2,
                                   "location": f"runs:/{WORLD['run']}/{WORLD['path']}"},
    "importPoints": lambda: {"run_id": imported_run(), "series": [
        {"key": "loss", "steps": [1, 2], "times_ms": [5, 6], "values": [0.5, "NaN"]}]},
    "countImported": lambda: {"ids": [WORLD["run"]]},
}
QUERIES = {"key": "loss", "thing": "model:tiny@1", "project": "default", "since": "10m",
           "attempt": "1", "fields": "id,name", "code_digest": "", "set": "params.x=1",
           "experiment_id": "", "q": "lo", "page": "runs", "until": "1s", "actor": "",
           "kind": "job"}
ORDERS = itertools.cycle(["created_at desc", "id", "", "created_at asc, id desc"])
CLOSING = {"cordonNode", "drainNode"}
DEAR_ONES = {"retryJob", "deleteJob", "cancelJob", "setLive", "setRunLive", "getBackup",
             "keepBackup"}


def make_real(case, operation):
    for parameter in case.path_parameters:
        made = PATHS.get((operation, parameter)) or PATHS.get(parameter)
        if made:
            case.path_parameters[parameter] = made()
    for parameter in case.query or {}:
        if parameter in QUERIES:
            case.query[parameter] = QUERIES[parameter]
    for header in ("If-Match", "Idempotency-Key"):  # of other versions, and of other requests
        (case.headers or {}).pop(header, None)
    if operation == "appendUpload":
        case.headers["Upload-Offset"] = "0"
    if operation in BODIES:
        case.body = BODIES[operation]()
        case.media_type = {"appendUpload": "application/octet-stream",
                           "syncTask": "application/x-hearth-sync"}.get(operation,
                                                                        "application/json")


def end_by_itself(case):
    """A log is followed until its job ends: that of a job which never does, not at all."""
    if case.path_parameters.get("job") != WORLD["job"]:
        (case.query or {}).pop("follow", None)


def mean_something(case, operation):
    """Texts with a grammar, around the random ones."""
    query = case.query or {}
    if "filter" in query:
        word = query["filter"][:500].replace("'", "''")
        query["filter"] = f"id != '{word}' and not (created_at < 2020-01-01)"
    if "order_by" in query:
        query["order_by"] = next(ORDERS)
    if "fields" in query:
        word = query["fields"].replace("\\", "\\\\").replace('"', '\\"')
        query["fields"] = f'id,"metrics.{word}"'
    if "group_by" in query:
        query["group_by"] = "status,experiment"
    if "agg" in query:
        query["agg"] = "metrics.loss.min:mean"
    if "snapshot" in query or "skip" in query:
        query["snapshot"] = "new"
        query.pop("cursor", None)
    if "cursor" in query:
        params = {"limit": 1}
        if "order_by" in query:
            params["order_by"] = query["order_by"]
        page = ask("GET", case.operation.path, params=params)
        query["cursor"] = page.get("next_cursor", "")
    for expression in {"grep", "re"} & set(query):
        word = query[expression].replace("\\E", "")
        query[expression] = f"^(\\Q{word}\\E|[a-z]+)$"
    if operation == "syncTask":
        case.body = BODIES[operation]()
    # After ten codes that are none in a minute the good ones are refused, too.
    if operation == "redeemSignInCode" or (
            operation == "createSession" and isinstance(case.body, dict) and "code" in case.body):
        case.body = BODIES[operation]()
    if operation == "createToken" and isinstance(case.body, dict) and "expires_at" in case.body:
        case.body["expires_at"] = "2999-01-01T00:00:00Z"


# What the rest of the run needs: whoever may be asked to take it away takes another away instead.
KEPT = {
    ("revokeToken", "token"): {"first start", WORLD["token_id"]},
    ("updateUser", "user"): {WORLD["user"], WORLD["user_id"]},
    ("deleteJob", "job"): {WORLD["job"], WORLD["job_name"]},
    ("deleteDataset", "dataset"): {WORLD["dataset"], WORLD["dataset_id"]},
}


def fit_the_disk(case):
    """More than a disk has room for is a 503, and rightly one."""
    if isinstance(case.body, dict):
        size = case.body.get("size_bytes")
        if isinstance(size, int) and size >= 1 << 20:
            case.body["size_bytes"] = size % (1 << 20)


BOUNDED = {"createUpload": fit_the_disk, "readLogs": end_by_itself}


@schemathesis.hook
def after_load_schema(context, schema):
    """What is said above of an operation that is not there would never be noticed."""
    del context
    there = {one["operationId"] for path in schema.raw_schema["paths"].values()
             for one in path.values()}
    named = {key[0] for key in [*PATHS, *KEPT] if isinstance(key, tuple)}
    named |= BOUNDED.keys() | BODIES.keys() | DEAR_ONES
    assert named <= there, f"no such operations: {sorted(named - there)}"


def spare_ourselves(case, operation):
    for (name_of_it, parameter), kept in KEPT.items():
        if operation == name_of_it and case.path_parameters.get(parameter) in kept:
            made = PATHS.get((operation, parameter)) or PATHS[parameter]
            case.path_parameters[parameter] = made()


@schemathesis.hook
def before_call(context, case, kwargs):
    del context, kwargs
    operation = operation_id(case)
    if case.method.upper() != case.operation.method.upper():
        return  # a method that is not there
    spare_ourselves(case, operation)
    if operation in BOUNDED:
        BOUNDED[operation](case)
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return
    mean_something(case, operation)
    if meta.phase.name == "stateful":
        return  # names what it has made itself
    CALLS[operation] += 1
    if CALLS[operation] % 2 == 1 and (operation not in DEAR_ONES or CALLS[operation] < DEAR):
        make_real(case, operation)


@schemathesis.hook
def after_call(context, case, response):
    del context
    if case.method.upper() == case.operation.method.upper():
        ANSWERS[operation_id(case)][str(response.status_code)] += 1
        if operation_id(case) in CLOSING and response.status_code == 200:  # jobs need a place
            ask("POST", "/api/v1/nodes/%s/uncordon" % case.path_parameters["node"])
