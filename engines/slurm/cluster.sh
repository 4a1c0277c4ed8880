#!/usr/bin/env bash
# A real Slurm on this machine, for trying things: slurmctld and several slurmd, each a node of pretended cores.
#
#   cluster.sh install|up|down|status
#
# NODES=4 CPUS=4     nodes, and pretended cores of each: tasks that sleep or wait need no real ones
# LUA=policy.lua     a submission policy (clearsched export --format slurm), loaded as job_submit/lua
# WORK=/var/tmp/clearsched-slurm    state, logs, sockets
#
# As root, on Debian or Ubuntu, whose PACKAGES `install` installs. A second `up` changes nothing; `down` ends all jobs and
# processes and takes away every file that `up` made. It never touches a Slurm that it did not start.
set -euo pipefail

PACKAGES="slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
NODES=${NODES:-4} CPUS=${CPUS:-4} LUA=${LUA:-} WORK=${WORK:-/var/tmp/clearsched-slurm}
FIRST_PORT=17001
# Not SLURM_CONF: Snakemake's executor takes every SLURM_* out of a job's environment.
CONF=/etc/slurm/slurm.conf SCRIPT=/etc/slurm/job_submit.lua MUNGE=/run/munge/munge.socket.2
MARK="# Written by clearsched's engines/slurm/cluster.sh, which takes it away on 'down'."

fail() { echo "cluster.sh: $*" >&2; exit 2; }

is_ours() { [ -f "$CONF" ] && [ "$(head -n 1 "$CONF")" = "$MARK" ]; }

setting() { sed -n "s/^$1=//p" "$CONF"; }

answers() { timeout 5 scontrol ping 2>/dev/null | grep -q "is UP"; }

idle_nodes() { timeout 5 sinfo -h -o "%D %t" 2>/dev/null | awk '$2 ~ /^(idle|mix|alloc)$/ {n += $1} END {print n + 0}'; }

wait_for() {  # SECONDS COMMAND...: until the command succeeds
    local last=$((SECONDS + $1)); shift
    until "$@"; do [ $SECONDS -lt $last ] || return 1; sleep 0.2; done
}

all_nodes_up() { [ "$(idle_nodes)" -ge "$1" ]; }

config() {
    cat <<CONF_FILE
$MARK
ClusterName=clearsched
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation=$WORK/state
SlurmdSpoolDir=$WORK/spool/%n
SlurmctldPidFile=$WORK/slurmctld.pid
SlurmdPidFile=$WORK/slurmd-%n.pid
SlurmctldLogFile=$WORK/log/slurmctld.log
SlurmdLogFile=$WORK/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
# A free core is offered at once, and every job of the queue is looked at.
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,sched_interval=1,bf_interval=1,default_queue_depth=10000,partition_job_depth=0,batch_sched_delay=0
# Without a weight there is no priority for nice to take from: all jobs have 1.
PriorityType=priority/multifactor
PriorityWeightPartition=1000000
ReturnToService=2
# Snakemake looks for the state of a job that ended long ago.
MinJobAge=3600
MaxArraySize=10001
MaxJobCount=100000
SlurmdParameters=config_overrides
${LUA:+JobSubmitPlugins=lua}
NodeName=n[1-$NODES] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$FIRST_PORT-$((FIRST_PORT + NODES - 1))] CPUs=$CPUS RealMemory=$((CPUS * 4000)) State=UNKNOWN
PartitionName=main Nodes=n[1-$NODES] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO PriorityJobFactor=1
CONF_FILE
}

check() {
    [ "$(id -u)" = 0 ] || fail "starting Slurm needs root"
    local missing=""
    for program in slurmctld slurmd scontrol munged; do
        command -v "$program" > /dev/null || [ -x "/usr/sbin/$program" ] || missing+=" $program"
    done
    [ -z "$missing" ] || fail "not found:$missing; on Debian: $0 install"
    [ ! -f "$CONF" ] || is_ours || fail "$CONF is another Slurm's: left as it is"
    [ -z "$LUA" ] || [ -f "$LUA" ] || fail "LUA=$LUA: no such file"
    for number in "$NODES" "$CPUS"; do
        [[ $number =~ ^[1-9][0-9]{0,2}$ ]] || fail "NODES and CPUS are whole numbers from 1 to 999, not '$number'"
    done
}

install_packages() {
    [ "$(id -u)" = 0 ] || fail "installing Slurm needs root"
    [ ! -f "$CONF" ] || is_ours || fail "$CONF is another Slurm's: left as it is"
    command -v apt-get > /dev/null || fail "no apt-get here: install Slurm as your system does, then '$0 up'"
    local said
    # shellcheck disable=SC2086  # they are words
    said=$({ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $PACKAGES; } 2>&1) \
        || fail "apt-get: $(tail -n 1 <<< "$said")"
    echo "installed: $PACKAGES"
}

start_munge() {
    munge -n > /dev/null 2>&1 && return
    [ -f /etc/munge/munge.key ] || { /usr/sbin/mungekey --create && touch "$WORK/made-munge-key"; }
    install -d -o munge -g munge -m 0755 /run/munge
    install -d -o munge -g munge -m 0700 /var/log/munge /var/lib/munge
    runuser -u munge -- /usr/sbin/munged || fail "munged does not start"
    touch "$WORK/started-munge"
    wait_for 10 munge -n > /dev/null 2>&1 || fail "munged does not answer at $MUNGE"
}

up() {
    check
    if is_ours; then
        if answers; then
            same || fail "already up with other settings: first '$0 down'"
            echo "already up: $(idle_nodes) nodes"
            return
        fi
        down  # killed, or a machine that was started again
    fi
    mkdir -p "$WORK"/{state,log} /etc/slurm
    for n in $(seq "$NODES"); do mkdir -p "$WORK/spool/n$n"; done
    trap 'status=$?; [ $status = 0 ] || down > /dev/null 2>&1; exit $status' EXIT
    start_munge
    config > "$CONF"
    [ -z "$LUA" ] || install -m 0644 "$LUA" "$SCRIPT"
    slurmctld -c || fail "slurmctld does not start: see $WORK/log/slurmctld.log"
    for n in $(seq "$NODES"); do slurmd -N "n$n" || fail "slurmd of n$n does not start: see $WORK/log"; done
    if ! wait_for 30 all_nodes_up "$NODES"; then
        tail -n 5 "$WORK"/log/*.log >&2 || true
        fail "$(idle_nodes) of $NODES nodes came up in 30 s"
    fi
    echo "up: $NODES nodes of $CPUS pretended cores; logs in $WORK/log"
}

same() {
    diff -q <(config) "$CONF" > /dev/null && { [ -z "$LUA" ] || diff -q "$LUA" "$SCRIPT" > /dev/null; }
}

# A container's first process may never ask how a child ended: what is defunct is gone.
is_gone() { ! kill -0 "$1" 2> /dev/null || grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2> /dev/null; }

stop() {  # FILE: of a process id
    local pid
    pid=$(cat "$1" 2> /dev/null) || return 0
    kill "$pid" 2> /dev/null || return 0
    wait_for 15 is_gone "$pid" || kill -9 "$pid" 2> /dev/null || true
}

no_jobs() { [ -z "$(timeout 5 squeue -h 2> /dev/null)" ]; }

down() {
    is_ours || { echo "not up"; return; }
    [ "$(id -u)" = 0 ] || fail "stopping Slurm needs root"
    local work
    work=$(setting StateSaveLocation); work=${work%/state}
    if answers; then
        timeout 20 squeue -h -o %F | sort -u | xargs -r timeout 20 scancel || true
        wait_for 30 no_jobs || true  # their processes are children of slurmd, and would outlive it
    fi
    for file in "$work"/slurmd-*.pid "$work/slurmctld.pid"; do stop "$file"; done
    if [ -e "$work/started-munge" ]; then stop /run/munge/munged.pid; fi
    if [ -e "$work/made-munge-key" ]; then rm -f /etc/munge/munge.key; fi
    rm -f "$CONF" "$SCRIPT"
    rm -rf "$work"
    echo "down"
}

status() {
    is_ours || { echo "not up"; return 1; }
    answers || { echo "slurmctld does not answer"; return 1; }
    sinfo
}

export PATH="$PATH:/usr/sbin:/sbin"
case ${1:-} in
    install) install_packages ;;
    up) up ;;
    down) down ;;
    status) status ;;
    *) fail "cluster.sh install|up|down|status" ;;
esac
