# Runs inside the guest, as root, after boot; prints `ok NAME` or `FAILED NAME: words` lines, then END.
# What is checked is the same for root and for an ordinary user: `as` runs a command as them, `ctl`
# speaks to their systemd.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
unset HEARTH_URL HEARTH_TOKEN
kSeconds=300 # for what should take two
kTop=/sys/fs/cgroup
home=~plain
failures=0

result() { # NAME STATUS WORDS
  if [[ $2 == 0 ]]; then
    echo "ok $who: $1"
  else
    echo "FAILED $who: $1: $(tr -s '\n' ' ' <<<"$3")"
    ((failures += 1))
  fi
}
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for part in sys.argv[1].split("."):
    if isinstance(value, list):
        value = value[int(part)] if len(value) > int(part) else None
    else:
        value = value.get(part) if isinstance(value, dict) else None
print("" if value is None else value)' "$1"; }
eventually() { # COMMAND...
  local give_up=$((SECONDS + kSeconds))
  until "$@"; do
    ((SECONDS < give_up)) || return 1
    sleep 0.5
  done
}
hearth() { "${as[@]}" hearth "$@"; }
ready() { hearth status >/dev/null 2>&1; }
journal() { "${logs[@]}" -n 30 --no-pager 2>&1; }
main_pid() { "${ctl[@]}" show -p MainPID --value hearth; }

api() { # PATH: what the server answers
  "${as[@]}" python3 -c 'import json, os, sys, urllib.request
known = json.load(open(os.environ["HOME"] + "/.config/hearth/contexts.json"))
context = known["contexts"][known["current"]]
headers = {"Authorization": "Bearer " + context["token"]}
request = urllib.request.Request(context["url"] + "/api/v1/" + sys.argv[1], headers=headers)
print(urllib.request.urlopen(request).read().decode())' "$1"
}
job() { # the job file is on stdin; its id
  local file
  file=$(mktemp /tmp/job.XXXXXX.yaml)
  cat >"$file"
  chmod 644 "$file"
  hearth job submit "$file" --json | field id
}
shown() { hearth job show "$1" --json | field "$2"; }
ended() { hearth job wait "$1" --timeout ${kSeconds}s >/dev/null 2>&1; }
group_of() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
# Of the process whose command line has these words; the oldest, so never a child of it.
pid_of() { pgrep -o -f "$1"; }

# What doctor says of control groups: state, what was found, what that means, what to do.
doctor() {
  hearth doctor --data "$data" --json | python3 -c 'import json, sys
for fact in json.load(sys.stdin)["facts"]:
    if fact["name"] == "cgroups":
        print(*[fact[part] for part in ("state", "found", "means", "mend")])'
}
starts() {
  "${ctl[@]}" start hearth
  eventually ready
  result "the service starts, and its user's command line knows it" $? "$(journal)"
  local text
  text=$(doctor)
  [[ $text == "ok v2, delegated The kernel keeps"* ]]
  result "doctor says that limits can be set" $? "$text"
}

# One process of two takes too much: the kernel ends the task as a whole, and that is said in words.
memory() { # HOW it is limited
  local id json
  id=$(job <<'YAML'
hearth: 1
name: eats
command: |
  python3 -c "x = []
  while True: x.append(bytearray(8 << 20))"
  echo survived
resources: {memory: 128MiB}
YAML
  )
  ended "$id"
  json=$(hearth job show "$id" --json)
  [[ $(field failure.class <<<"$json") == oom && $(field failure.text <<<"$json") == *128*MiB* ]]
  result "too much memory ends as oom ($(field failure.text <<<"$json"))" $? "$json"
  json=$(api "jobs/$id/tasks")
  [[ $(field items.0.limits <<<"$json") == "$1" ]]
  result "and what limits it is told: $1" $? "$json"
  [[ $(hearth job logs "$id") != *survived* ]]
  result "all of the task is ended, not one process of it" $? "$(hearth job logs "$id")"
}

value() { cat "$kTop$group/$1" 2>&1; }
limited() { # WHEN
  local seen
  seen="$(value cpu.max); $(value cpu.weight); $(value memory.max); $(value memory.swap.max); $(
    value memory.oom.group); $(value pids.max)"
  [[ $seen == "50000 100000; 50; $((256 << 20)); 0; 1; max" ]]
  result "cpu.max, cpu.weight, memory.max, memory.swap.max, memory.oom.group $1" $? "$seen"
}
throttled() { (($(sed -n 's/^nr_throttled //p' "$kTop$group/cpu.stat") > 3)); }
goes_on() { # WHEN
  local before
  [[ -d /proc/$pid && $(group_of "$pid") == "$group" ]]
  result "the task goes on $1" $? "$(pgrep -af python3)"
  [[ $(shown "$id" state) == running ]]
  result "and is known to run" $? "$(shown "$id" state)"
  before=$(hearth job logs "$id" | wc -l)
  more_lines() { (($(hearth job logs "$id" | wc -l) > before)); }
  eventually more_lines
  result "and its lines come in" $? "$before lines still"
}

# A limited task while its server is restarted, killed, stopped and started.
restarts() {
  local id pid group server
  id=$(job <<'YAML'
hearth: 1
name: counts
command: [python3, -c, "import time\nfor n in range(1, 10**6):\n  print(n, flush=True)\n  end = time.time() + 0.5\n  while time.time() < end: pass"]
resources: {cpus: 0.5, cpu_limit: hard, memory: 256MiB}
YAML
  )
  running() { pid=$(pid_of 'range\(1, 10\*\*6\)') && [[ $(shown "$id" state) == running ]]; }
  eventually running
  result "a limited task runs" $? "$(hearth job show "$id")"
  group=$(group_of "$pid")
  limited "are what the job file says"
  eventually throttled
  result "the quota is kept" $? "$(value cpu.stat)"
  [[ $group == "$parent/hearth/"* ]]
  result "the task lives in a group outside of the unit ($group)" $? ""
  server=$(main_pid)
  [[ $(cat "$kTop$("${ctl[@]}" show -p ControlGroup --value hearth)/cgroup.procs") == "$server" ]]
  result "nobody but the server is in the unit" $? "$("${ctl[@]}" status hearth)"

  "${ctl[@]}" daemon-reload
  "${ctl[@]}" restart hearth
  result "systemctl restart succeeds" $? "$("${ctl[@]}" status hearth)"
  eventually ready
  result "the server is ready after it" $? "$(journal)"
  [[ $(main_pid) != "$server" ]]
  result "it is another process" $? "$(main_pid)"
  goes_on "over a restart"
  limited "are as before"

  server=$(main_pid)
  "${ctl[@]}" kill --kill-whom=main -s KILL hearth
  another() { [[ $(main_pid) != 0 && $(main_pid) != "$server" ]] && ready; }
  eventually another
  result "systemd starts a killed server again" $? "$(journal)"
  goes_on "over kill -9 of the server"

  "${ctl[@]}" stop hearth
  [[ -d /proc/$pid && -d $kTop$group ]]
  result "the task goes on while the service is stopped" $? "$(pgrep -af python3)"
  "${ctl[@]}" start hearth
  eventually ready
  result "the service starts beside it" $? "$(journal)"
  goes_on "over stop and start"

  hearth job cancel "$id" >/dev/null 2>&1
  ended "$id"
  [[ $(shown "$id" state) == cancelled && ! -d /proc/$pid && ! -d $kTop$group ]]
  result "its end leaves no process and no group" $? "$(ls -d "$kTop$group" 2>&1)"
  hearth job logs "$id" | awk '$1 != NR {bad = 1} END {exit bad || NR < 10}'
  result "no line is missing" $? "$(hearth job logs "$id" | awk '$1 != NR' | head -n 3)"
}

# Forked twice, in a session of its own, deaf to SIGTERM and without a variable of ours.
runaway() {
  local id pid
  id=$(job <<'YAML'
hearth: 1
name: runs-away
command: |
  cat >away.py <<'END'
  import os, signal, time
  signal.signal(signal.SIGTERM, signal.SIG_IGN)
  if os.fork() == 0:
      os.setsid()
      if os.fork() == 0:
          os.execvpe("python3", ["python3", "-c", "import time; time.sleep(7777)"], {"PATH": os.environ["PATH"]})
      os._exit(0)
  time.sleep(8888)
  END
  exec python3 away.py
resources: {memory: 256MiB}
YAML
  )
  away() { pid=$(pid_of 'sleep\(7777\)'); }
  eventually away
  result "a task runs away" $? "$(hearth job logs "$id")"
  hearth job cancel "$id" >/dev/null 2>&1
  ended "$id"
  [[ $(shown "$id" state) == cancelled ]] && ! pgrep -f 'sleep\(7777\)|away.py' >/dev/null
  result "and is gone after a cancel" $? "$(shown "$id" state) $(pgrep -af python3)"
}

left() { find $kTop -type d -name 'hearth*'; }
leaves_nothing() {
  "${ctl[@]}" stop hearth
  [[ -z $(left) ]]
  result "the end of the service leaves no group" $? "$(left)"
  "${ctl[@]}" start hearth
  eventually ready
  job >/dev/null <<'YAML'
hearth: 1
name: sleeps
command: [python3, -c, "import time; time.sleep(6666)"]
resources: {memory: 256MiB}
YAML
  asleep() { pid_of 'sleep\(6666\)' >/dev/null; }
  eventually asleep
  hearth down --cancel --data "$data" >/dev/null
  result "hearth down --cancel ends the server and its task" $? "$(journal)"
  unit_ended() { [[ $("${ctl[@]}" is-active hearth) == inactive ]]; }
  eventually unit_ended
  [[ -z $(left) ]] && ! asleep
  result "nothing is left of them" $? "$(left) $(pgrep -af python3)"
}

all_of_it() {
  starts
  memory "cgroup v2"
  restarts
  runaway
  leaves_nothing
}

root_server() {
  who=root parent='' data=/var/lib/hearth
  as=(env) ctl=(systemctl) logs=(journalctl -u hearth)
  install -m 755 /payload/hearth /usr/local/bin/hearth
  install -m 644 /payload/hearth.service /etc/systemd/system/
  systemctl daemon-reload
  all_of_it
}

# Nobody of that name is signed in: their systemd runs because it may linger.
as_plain() {
  as=(runuser -u plain -- env -C $home "XDG_RUNTIME_DIR=/run/user/$(id -u plain)"
    HOME=$home PATH="$home/.local/bin:$PATH")
  rm -f /usr/local/bin/hearth
  install -D -m 755 /payload/hearth $home/.local/bin/hearth
  chown -R plain:plain $home
}
user_server() {
  local uid
  uid=$(id -u plain)
  who=user parent=/user.slice/user-$uid.slice/user@$uid.service
  data=$home/.local/share/hearth
  install -D -m 644 /payload/hearth-user.service $home/.config/systemd/user/hearth.service
  as_plain
  ctl=("${as[@]}" systemctl --user) logs=(journalctl "_SYSTEMD_USER_UNIT=hearth.service")
  loginctl enable-linger plain
  eventually test -S "/run/user/$uid/bus"
  "${ctl[@]}" daemon-reload
  all_of_it
}

# An ordinary user's server in no unit of theirs, as one started from a shell: nothing is delegated.
bare_server() {
  who=bare data=$home/bare
  as_plain
  local text
  hearth up --detach --data "$data" --listen 127.0.0.1:0 >/tmp/up 2>&1
  result "a server starts from a shell" $? "$(cat /tmp/up)"
  text=$(doctor)
  [[ $text == "warning v2, no limits: "*"not delegated"*"watches the memory"*"systemd-run --user"* ]]
  result "doctor says what is amiss and what to do" $? "$text"
  memory watched
  hearth down --cancel --data "$data" >/dev/null
  result "it ends" $? "$(left)"
}

# What a bare Debian lacks, behind what it has.
echo /payload/lib >/etc/ld.so.conf.d/zz-payload.conf
ldconfig
who=guest
echo # the firmware's line has no end
[[ $(stat -fc %T $kTop) == cgroup2fs ]]
result "cgroup v2 alone is mounted" $? "$(grep cgroup /proc/mounts)"
for one in $(</payload/who); do "${one}_server"; done
((failures == 0)) || journalctl --no-pager -n 300 | grep -v pam_unix
echo END
