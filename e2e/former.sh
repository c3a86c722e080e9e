#!/bin/sh
# Builds the program of before a migration of the store, as it was then, and prints where it is. Without the migration's name (`former.sh history`) it is the newest:
# the previous release, as far as a store knows one; `$FORMER` names another commit. Needs the history of the repository.
set -eu

root=$(git rev-parse --show-toplevel)
cd "$root"
target=${CARGO_TARGET_DIR:-target}
case $target in
    /*) ;;
    *) target=$root/$target ;;
esac
migrations=libs/storage-sql/migrations/sqlite
if [ $# -gt 0 ]; then
    migration=$(git ls-files "$migrations/*_$1.sql")
    [ -n "$migration" ] || { echo "e2e/former.sh: there is no migration $1 in $migrations" >&2; exit 1; }
    FORMER=
else
    migration=$(git ls-files "$migrations" | sort | tail -n 1)
fi
place=$target/former/${1:-newest}
program=$place/armadex
# One for all of them: most of what they are made of is the same.
built=$target/former/target

if [ -z "${FORMER:-}" ]; then
    came=$(git log --diff-filter=A --format=%H -- "$migration" | tail -n 1)
    [ -n "$came" ] || { echo "e2e/former.sh: no commit is known that $migration came with: fetch the whole history, or set FORMER" >&2; exit 1; }
    FORMER=$came^
fi
commit=$(git rev-parse --verify --quiet "$FORMER^{commit}") || { echo "e2e/former.sh: there is no commit $FORMER: fetch the whole history" >&2; exit 1; }

if [ ! -x "$program" ] || [ "$(cat "$place/commit" 2>/dev/null)" != "$commit" ]; then
    rm -rf "$place/commit" "$place/source"
    mkdir -p "$place/source"
    # As if written now: cargo goes by times.
    git archive "$commit" | tar -x -m -C "$place/source"
    (cd "$place/source" && CARGO_TARGET_DIR=$built cargo build --profile demo --locked --quiet --package armadex >&2)
    cp "$built/demo/armadex" "$program"
    echo "$commit" > "$place/commit"
fi
echo "the program of before ${migration##*/} is that of $(git log -1 --format='%h, %s' "$commit")" >&2
echo "$program"
