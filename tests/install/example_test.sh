#!/usr/bin/env bash
# example_test.sh CMAKE BUILD_FOLDER EXAMPLES_FOLDER [COMPILER_LAUNCHER]
#
# Installs the build, moves what was installed, builds the examples that are projects of their own against it, has the
# consumer of one call its provider, and runs the one without RPC.
set -euo pipefail
cmake=$1 build=$2 examples=$3 launcher=${4:-}

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
cp -R "$examples/greeter" "$examples/retry" "$work"
for example in greeter retry; do
  "$cmake" -G Ninja -S "$work/$example" -B "$work/$example/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" \
    >"$work/configure.log" 2>&1 || fail "configuring the example $example"
  "$cmake" --build "$work/$example/build" >"$work/build.log" 2>&1 || fail "building the example $example"
done

echo "3 chairs" >"$work/stock.txt"
[[ $("$work/retry/build/patient_cat" "$work/stock.txt") == "3 chairs" ]] || fail "patient_cat does not print the file"

cd "$work/greeter"

export XDG_RUNTIME_DIR=$work
# The consumer first: it waits for its provider, so that the lines of the README can be pasted as they are.
MARPC_LOG_LEVEL=info build/greeter_consumer consumer.yaml Alice >"$work/consumer.log" 2>&1 &
consumer=$!
until grep -q "event=retry" "$work/consumer.log"; do
  sleep 0.1
  kill -0 "$consumer" 2>/dev/null || fail "the consumer did not wait for a provider"
done
build/greeter_provider provider.yaml >"$work/provider.log" 2>&1 &
provider=$!
wait "$consumer" || fail "the consumer got no answer"
grep -qx "Hello, Alice!" "$work/consumer.log" || fail "the answer is another than Hello, Alice!"

# The handler's own error comes through, and stopping is orderly.
if build/greeter_consumer consumer.yaml "" >"$work/consumer.log" 2>&1; then fail "an empty name was greeted"; fi
grep -q "INVALID_ARGUMENT: who are you?" "$work/consumer.log" || fail "the handler's error did not come through"
kill -TERM "$provider"
code=0
wait "$provider" || code=$?
provider=
[[ $code == 0 ]] || fail "the provider ended with $code after SIGTERM"
