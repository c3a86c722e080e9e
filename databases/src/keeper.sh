# Keeps one server and its folder, and takes both away when its owner is gone: it reads orders from a pipe whose other end only the owner has, and
# the kernel closes that end with the owner, be it by panic, abort or SIGKILL. Each order is answered by a line.
#
# $1: as whom the server runs, or nothing. $2: the signal by which it ends in order. $3: the one by which it ends at once. $4: the group of $1. $5: whose the
# folder is, where that is not who runs this.
#
# What is run here is run as its owner, so the folder and the files in it stay theirs, and the server's group may read them: `data` and `tmp` alone are the server's.
# An owner that is gone takes no answer, which is no reason to end before the work is done.
trap '' PIPE
user=$1
pid=
folder=$(mktemp -d "${TMPDIR:-/tmp}/armadex-database-XXXXXX") || exit 1
# One of its own: a MariaDB that starts takes the temporary tables away that it finds, also those of another that is running.
export TMPDIR="$folder/tmp"
mkdir -m 700 "$TMPDIR" "$folder/data" || exit 1
if [ -n "$user" ]; then
    chown "$user:$4" "$TMPDIR" "$folder/data" && chgrp "$4" "$folder" && chmod 750 "$folder" || exit 1
fi
[ -z "$5" ] || chown "$5" "$folder" || exit 1

# A zombie has ended.
runs() {
    [ -n "$pid" ] && [ -r "/proc/$pid/stat" ] && ! grep -q ') Z ' "/proc/$pid/stat"
}

# signal NAME: the server, then the processes that it has, some of which may end meanwhile. Those of PostgreSQL are in groups of their own.
signal() {
    kill -"$1" "$pid" 2>/dev/null || return 1
    kill -"$1" $(cat "/proc/$pid/task/$pid/children") 2>/dev/null
    return 0
}

# Within 30 s, or the hard way.
end() {
    [ -n "$pid" ] || return 0
    signal CONT
    kill -"$1" "$pid" 2>/dev/null
    left=600
    while [ "$left" -gt 0 ] && runs; do
        left=$((left - 1))
        sleep 0.05
    done
    # Its processes first, for they are not known without it.
    ! runs || kill -KILL $(cat "/proc/$pid/task/$pid/children") "$pid" 2>/dev/null
    wait "$pid"
    pid=
}

echo "$folder"
while read -r order; do
    answer=done
    case $order in
    prepare) (cd "$folder" && sh ./prepare.sh) >>"$folder/log" 2>&1 || answer=failed ;;
    start)
        sh "$folder/run.sh" </dev/null >>"$folder/log" 2>&1 &
        pid=$!
        ;;
    runs) runs || answer=ended ;;
    stop) end "$2" ;;
    crash) end "$3" ;;
    pause) signal STOP || answer=failed ;;
    resume) signal CONT || answer=failed ;;
    *) answer=unknown ;;
    esac
    echo "$answer"
done
end "$3"
rm -rf "$folder"
