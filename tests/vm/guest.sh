# Runs inside the guest, as root, after boot; prints `ok NAME` or `FAILED NAME: words` lines, then END.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
unset HEARTH_URL HEARTH_TOKEN
kSeconds=180 # for what should take two

cp -a /payload/lib/. /usr/local/lib/ && ldconfig
install -m 755 /payload/hearth /usr/local/bin/hearth
install -m 644 /payload/hearth.service /etc/systemd/system/
systemctl daemon-reload

result() { # NAME STATUS WORDS
  if [[ $2 == 0 ]]; then echo "ok $1"; else echo "FAILED $1: $3"; fi
}
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for part in sys.argv[1].split("."):
    value = value.get(part) if isinstance(value, dict) else None
print("" if value is None else value)' "$1"; }
eventually() { # COMMAND...
  local give_up=$((SECONDS + kSeconds))
  until "$@"; do
    ((SECONDS < give_up)) || return 1
    sleep 1
  done
}

# --- the limits, under cgroup v2, for whoever runs the commands given as a prefix
job() { # PREFIX... : submits the job file on stdin; its id
  local file
  file=$(mktemp /tmp/job.XXXXXX.yaml)
  cat >"$file"
  chmod 644 "$file"
  "$@" hearth job submit "$file" --json | field id
}
memory_limit() { # NAME PREFIX...
  local name=$1 id shown
  shift
  id=$(job "$@" <<'YAML'
hearth: 1
name: eats
command: [python3, -c, "x = []\nwhile True: x.append(bytearray(16 << 20))"]
resources: {memory: 128MiB}
YAML
  )
  "$@" hearth job wait "$id" --timeout ${kSeconds}s >/dev/null
  shown=$("$@" hearth job show "$id" --json)
  [[ $(field failure.class <<<"$shown") == oom ]]
  result "$name" $? "$(field failure <<<"$shown") $(field state <<<"$shown")"
}

root_server() {
  systemctl start hearth
  eventually hearth status >/dev/null 2>&1
  result "the service starts" $? "$(journalctl -u hearth -n 20 --no-pager | tr '\n' ' ')"
  hearth doctor | grep -i cgroup
  hearth doctor --json | grep -qi 'v2'
  result "doctor finds cgroup v2" $? "$(hearth doctor | tr '\n' ' ')"
  memory_limit "memory is limited under v2, as root" env
}

quota() {
  local id pid group
  id=$(job env <<'YAML'
hearth: 1
name: quota
command: exec python3 -c "import time; print('up', flush=True); time.sleep(900)"
resources: {cpus: 0.5, cpu_limit: hard, memory: 256MiB}
YAML
  )
  pid_of() { pid=$(pgrep -f 'time.sleep\(900\)' | tail -n 1); [[ -n $pid ]]; }
  eventually pid_of
  group=$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
  [[ $(<"/sys/fs/cgroup$group/cpu.max") == "50000 100000" ]]
  result "a hard quota is a quota" $? "$group: $(cat "/sys/fs/cgroup$group/cpu.max" 2>&1)"
  [[ $(<"/sys/fs/cgroup$group/memory.max") == $((256 << 20)) ]]
  result "the limit is the kernel's" $? "$(cat "/sys/fs/cgroup$group/memory.max" 2>&1)"
  [[ $group != *hearth.service* ]]
  result "tasks live outside of the unit" $? "$group"

  # --- a restart of the service with this limited task running
  local before=$pid server
  server=$(systemctl show -p MainPID --value hearth)
  systemctl restart hearth
  result "systemctl restart succeeds" $? "$(systemctl status hearth --no-pager | tr '\n' ' ')"
  eventually hearth status >/dev/null 2>&1
  result "the server is ready after it" $? "$(journalctl -u hearth -n 20 --no-pager | tr '\n' ' ')"
  [[ $(systemctl show -p MainPID --value hearth) != "$server" && -d /proc/$before ]]
  result "the task went on" $? "$(pgrep -af python3)"
  [[ $(hearth job show "$id" --json | field state) == running ]]
  result "and is known to run" $? "$(hearth job show "$id" --json | field state)"
  hearth job cancel "$id" >/dev/null
  hearth job wait "$id" --timeout ${kSeconds}s >/dev/null
  [[ $(hearth job show "$id" --json | field state) == cancelled && ! -d /sys/fs/cgroup$group ]]
  result "its end leaves no group behind" $? "$(ls -d "/sys/fs/cgroup$group" 2>&1)"
  systemctl stop hearth
}

# --- the same for an ordinary user with a part of the tree delegated to them
user_server() {
  local uid run
  uid=$(id -u plain)
  loginctl enable-linger plain
  eventually test -S "/run/user/$uid/bus"
  run=(runuser -u plain -- env "XDG_RUNTIME_DIR=/run/user/$uid" HOME=/home/plain PATH="$PATH")
  install -D -m 755 -o plain /payload/hearth /home/plain/.local/bin/hearth
  install -D -m 644 -o plain /payload/hearth-user.service \
    /home/plain/.config/systemd/user/hearth.service
  chown -R plain:plain /home/plain
  cd /home/plain || return
  "${run[@]}" systemctl --user daemon-reload
  "${run[@]}" systemctl --user start hearth
  eventually "${run[@]}" hearth status >/dev/null 2>&1
  result "a user's service starts" $? "$("${run[@]}" journalctl --user -n 20 | tr '\n' ' ')"
  "${run[@]}" hearth doctor | grep -i cgroup
  memory_limit "memory is limited under v2, delegated to a user" "${run[@]}"
  "${run[@]}" systemctl --user restart hearth
  eventually "${run[@]}" hearth status >/dev/null 2>&1
  result "a user's service restarts" $? "$("${run[@]}" systemctl --user status hearth | tr '\n' ' ')"
}

result "cgroup v2 alone is mounted" "$([[ $(stat -fc %T /sys/fs/cgroup) == cgroup2fs ]]; echo $?)" ""
root_server
quota
user_server
echo END
