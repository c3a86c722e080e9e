# Keeps Debian's packages from starting what they bring while they are installed. For a script that says how to do something `as_root`.
#
# A policy of the machine's own is left as it is. Ours has a line that it is known by: where a run was killed, or could not take it away, the next one does. One
# run at a time has it, or the first to end would take it from the others.
#
# policy: its file. patience: for how many seconds another run is waited for.
mark='# made by databases/install.sh of Armadex for as long as it runs'
held=0

is_ours() {
    grep -qsxF "$mark" "$policy"
}

# The lock is that of the folder, which everybody may read, and ends with this process.
lock_services() {
    exec 9<"${policy%/*}" && flock --wait "$1" 9
}

hold_services() {
    [ "$held" = 0 ] || return 0
    lock_services "$patience" || {
        echo "another run installs packages: it has done so for $patience s" >&2
        return 1
    }
    [ ! -e "$policy" ] || is_ours || return 0
    held=1
    printf '#!/bin/sh\n%s\nexit 101\n' "$mark" | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy"
}

release_services() {
    [ "$held" = 1 ] || return 0
    held=0
    as_root rm -f "$policy" && return 0
    printf 'LEFT BEHIND: %s keeps every package of this machine from starting its service. As root: rm %s\n' "$policy" "$policy" >&2
    return 1
}

# What a run has left that was killed.
clear_services() {
    is_ours || return 0
    # One that runs takes it away itself.
    lock_services 0 || return 0
    held=1
    release_services
    exec 9<&-
}
