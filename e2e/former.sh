#!/bin/sh
# Builds the program of before the newest migration of the store, as it was then, and prints where it is: the previous release, as far as a store knows
# one. Needs the history of the repository; `$FORMER` names another commit.
set -eu

root=$(git rev-parse --show-toplevel)
cd "$root"
target=${CARGO_TARGET_DIR:-target}
case $target in
    /*) ;;
    *) target=$root/$target ;;
esac
place=$target/former
program=$place/target/demo/armadex

if [ -z "${FORMER:-}" ]; then
    migrations=libs/storage-sql/migrations/sqlite
    newest=$(git ls-files "$migrations" | sort | tail -n 1)
    came=$(git log --diff-filter=A --format=%H -- "$newest" | tail -n 1)
    [ -n "$came" ] || { echo "e2e/former.sh: no commit is known that $newest came with: fetch the whole history, or set FORMER" >&2; exit 1; }
    FORMER=$came^
fi
commit=$(git rev-parse --verify --quiet "$FORMER^{commit}") || { echo "e2e/former.sh: there is no commit $FORMER: fetch the whole history" >&2; exit 1; }

if [ ! -x "$program" ] || [ "$(cat "$place/commit" 2>/dev/null)" != "$commit" ]; then
    rm -rf "$place/commit" "$place/source"
    mkdir -p "$place/source"
    # As if written now: cargo goes by times.
    git archive "$commit" | tar -x -m -C "$place/source"
    (cd "$place/source" && CARGO_TARGET_DIR=$place/target cargo build --profile demo --locked --quiet --package armadex >&2)
    echo "$commit" > "$place/commit"
fi
echo "the former program is that of $(git log -1 --format='%h, %s' "$commit")" >&2
echo "$program"
