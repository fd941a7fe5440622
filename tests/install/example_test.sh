#!/usr/bin/env bash
# example_test.sh CMAKE BUILD_FOLDER EXAMPLE_FOLDER [COMPILER_LAUNCHER]
#
# Installs the build, moves what was installed, builds the example against it, and has its consumer call its provider.
set -euo pipefail
cmake=$1 build=$2 example=$3 launcher=${4:-}

work=$(mktemp -d)
# Lets ccache know the files again in the next run's folder.
export CCACHE_BASEDIR=$work
provider=
finish() {
  if [[ -n $provider ]]; then kill -KILL "$provider" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT
fail() {
  printf 'FAILED: %s\n' "$1" >&2
  for log in "$work"/*.log; do printf -- '--- %s\n' "$log" >&2 && cat "$log" >&2; done
  exit 1
}

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" 2>&1 || fail "cmake --install"
# Nothing may depend on where it was installed to.
mv "$work/first" "$work/prefix"
# A copy, so that nothing of the tree is in reach.
cp -R "$example" "$work/greeter"
cd "$work/greeter"
"$cmake" -G Ninja -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >"$work/configure.log" 2>&1 || fail "configuring the example"
"$cmake" --build "$work/build" >"$work/build.log" 2>&1 || fail "building the example"

export XDG_RUNTIME_DIR=$work
"$work/build/greeter_provider" provider.yaml >"$work/provider.log" 2>&1 &
provider=$!
# The consumer fails until the provider is registered.
deadline=$((SECONDS + 30))
until "$work/build/greeter_consumer" consumer.yaml Alice >"$work/consumer.log" 2>&1; do
  kill -0 "$provider" 2>/dev/null || fail "the provider ended"
  ((SECONDS < deadline)) || fail "the consumer got no answer"
done
[[ $(tail -n 1 "$work/consumer.log") == "Hello, Alice!" ]] || fail "the answer is another than Hello, Alice!"

# The handler's own error comes through, and stopping is orderly.
if "$work/build/greeter_consumer" consumer.yaml "" >"$work/consumer.log" 2>&1; then fail "an empty name was greeted"; fi
grep -q "INVALID_ARGUMENT: who are you?" "$work/consumer.log" || fail "the handler's error did not come through"
kill -TERM "$provider"
code=0
wait "$provider" || code=$?
provider=
[[ $code == 0 ]] || fail "the provider ended with $code after SIGTERM"
