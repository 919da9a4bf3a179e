#!/bin/sh
# Index this project's documents and a few skills, then search them. Leaves your own corpora alone.
set -eu
cd "$(dirname "$0")/.."

home=${IR_DEMO_HOME:-build/demo}
export IR_CONFIG_DIR="$home/config" IR_DATA_DIR="$home/data" IR_CACHE_DIR="$home/cache"

bold= plain=
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
run() {
    printf '\n$ ir'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9./_=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    ir "$@"
}

if [ -z "${IR_EMBEDDER:-}" ]; then
    mkdir -p "$home"
    say 'The embedding model: 91 MB, fetched once'
    if ! python -c 'import onnxruntime, tokenizers' 2>/dev/null || ! ir models pull minilm 2>"$home/pull.log"; then
        echo 'It cannot be had here, so this demo uses `light`, which compares words more than meaning.'
        export IR_EMBEDDER=light
    fi
fi

say 'A folder that was never indexed: this project'\''s documents'
run search docs 'what happens when a build is killed' -k 3

say 'A corpus with a name: a few skills, and why each was chosen'
run register skills examples/skills --kind skills
run build skills
run search skills 'a test that fails only sometimes' -k 2 --explain
run search skills 'the query is slow, which index is missing' -k 1 --explain

say 'What there is now'
run ls
