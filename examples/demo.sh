#!/bin/sh
# Index this project's documents and a few skills, then search them. Leaves your own corpora alone.
set -eu
cd "$(dirname "$0")/.."

home=${IR_DEMO_HOME:-$PWD/build/demo}
export IR_CONFIG_DIR="$home/config" IR_DATA_DIR="$home/data" IR_CACHE_DIR="$home/cache" IR_RUNTIME_DIR="$home/runtime"

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
    here='from importlib.util import find_spec; raise SystemExit(not (find_spec("onnxruntime") and find_spec("tokenizers")))'
    if ! python -c "$here" || ! ir models pull minilm 2>"$home/pull.log"; then
        echo 'It cannot be had here, so this demo uses `box`, the table of word vectors that comes with ir.'
        export IR_EMBEDDER=box
    fi
fi

say 'A folder that was never indexed: this project'\''s documents'
run search docs 'what happens when a build is killed' -k 1

say 'A corpus with a name: a few skills'
run register skills examples/skills --kind skills
run build skills

say 'Why each result was chosen: by words and by meaning, then by meaning alone'
run search skills 'a test that fails only sometimes' -k 2 --explain
run search skills 'our service went down last night' -k 1 --explain

say 'Discovery decides: it commits to an answer, or to none'
run discover skills 'the query is slow, which index is missing'
run discover skills 'train times to Vienna' || echo "(exit code $?)"

say 'The same for a program'
run search skills 'tell users what is new in this version' -k 1 --json

say 'What there is now'
run ls

say 'An agent asks over MCP, reads, and cites'
printf '\n$ cd docs && python ../examples/agent.py . '\''what happens when a build is killed'\''\n'
(cd docs && python ../examples/agent.py . 'what happens when a build is killed')
ir daemon stop >/dev/null || true
