# shellcheck shell=bash
# Sourced by the scripts beside it: where the tree is, how many jobs to run, how to build a preset.
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
jobs=${MARPC_JOBS:-$(nproc)}

# Without these a clone in another folder misses on every file, because paths are part of what ccache compares.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
export CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}

# configure PRESET: quiet unless something is wrong.
configure() { (cd "$root" && cmake --preset "$1" --log-level=NOTICE >/dev/null); }

# build PRESET [TARGET...]: of a configured preset, with the progress on stdout.
build() {
  local preset=$1
  shift
  (cd "$root" && cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"})
}
