#!/bin/sh
# Installs the database servers that the tests start for themselves, if they are missing: Debian's PostgreSQL and MariaDB, programs only. Nothing of
# it runs as a service of the machine. Done again it changes nothing. Where it cannot be done it says what will not be tested, which is an error
# if $ARMADEX_TEST_DATABASES is "require". `install.sh galera` installs what a Galera cluster of MariaDB needs beside that.
set -u

said=0

# has PROGRAM: in $PATH, where Debian puts those of a PostgreSQL of one version, or where it puts those of administrators.
has() {
    command -v "$1" >/dev/null 2>&1 && return 0
    for place in /usr/lib/postgresql/*/bin /usr/sbin /usr/local/sbin; do
        [ -x "$place/$1" ] && return 0
    done
    return 1
}

# have PROGRAM...: all of them.
have() {
    for program in "$@"; do
        has "$program" || return 1
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

lacks() {
    printf 'not there: %s\n    %s\n' "$1" "$2" >&2
    said=1
}

# A slow mirror gives a few hundred megabytes in the time that another run is waited for.
policy=/usr/sbin/policy-rc.d
patience=1800
. "$(dirname "$0")/services.sh"

clear_services
trap 'release_services || exit 1' EXIT
trap 'exit 1' HUP INT TERM

# install WHAT-IT-IS PACKAGE...
install() {
    what=$1
    shift
    if ! command -v apt-get >/dev/null 2>&1 || ! as_root true 2>/dev/null; then
        lacks "$what" "as root: apt-get install $*"
        return 1
    fi
    echo "installing $what from Debian's packages: $*"
    hold_services || {
        lacks "$what" "nothing would keep what it brings from being started"
        return 1
    }
    set -- env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends "$@"
    # Whatever it starts has not the lock.
    as_root "$@" </dev/null 9<&- || { as_root apt-get update --quiet --quiet 9<&-; as_root "$@" </dev/null 9<&-; } || {
        lacks "$what" "apt-get did not install it"
        return 1
    }
}

if [ -n "${ARMADEX_TEST_POSTGRES:-}" ]; then
    have psql || install "PostgreSQL's client" postgresql-client
elif ! have psql initdb postgres; then
    # Else Debian's scripts make a database and have it started with the machine.
    install 'PostgreSQL' postgresql && command -v systemctl >/dev/null 2>&1 && as_root systemctl --quiet disable postgresql
fi

have pgbouncer || {
    install 'PgBouncer' pgbouncer && command -v systemctl >/dev/null 2>&1 && as_root systemctl --quiet disable pgbouncer
}

if [ -n "${ARMADEX_TEST_MYSQL:-}" ]; then
    have mariadb || install "MariaDB's client" mariadb-client-core
elif ! have mariadb mariadb-install-db mariadbd; then
    install 'MariaDB' mariadb-server-core mariadb-client-core
fi

if [ "${1:-}" = galera ] && ! { have wsrep_sst_rsync rsync && [ -e /usr/lib/galera/libgalera_smm.so ]; }; then
    install 'Galera' mariadb-server galera-4 rsync && command -v systemctl >/dev/null 2>&1 && as_root systemctl --quiet disable mariadb
fi

if [ "$said" = 1 ] && [ "${ARMADEX_TEST_DATABASES:-}" = require ]; then
    echo 'databases: $ARMADEX_TEST_DATABASES requires all of them' >&2
    exit 1
fi
exit 0
