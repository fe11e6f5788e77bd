#!/usr/bin/env bash
# Build the native module with sanitizers, in a copy of the tree, and run the tests that reach it.
#
#     [TESTS="tests/test_threads.py ..."] tools/sanitizers.sh PYTHON [address|thread]...
#
# "address" is AddressSanitizer with UndefinedBehaviorSanitizer, "thread" is ThreadSanitizer. A finding
# ends the run with an error.  Python itself is not instrumented, so leaks are not looked for.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath -s "$1")
shift
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(address thread)

tests=(tests/test_native.py tests/test_layout.py tests/test_threads.py tests/test_curves.py tests/test_engines.py
  tests/test_*_kernels.py tests/test_draws.py tests/optim tests/program/test_lowering.py
  tests/program/test_capture.py tests/test_quick_ways.py tests/test_products.py tests/nn/test_callers.py
  tests/distributed/test_arena.py tests/program/test_kernels.py tests/viz/test_explaining.py
  tests/program/test_convolutions.py tests/cuda/test_fake_device.py)
[ -z "${TESTS:-}" ] || read -ra tests <<< "$TESTS"

for kind in "${kinds[@]}"; do
  case $kind in
    address) flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined" runtime=libasan.so ;;
    thread) flags="-fsanitize=thread" runtime=libtsan.so ;;
    *) echo "unknown sanitizer: $kind" >&2; exit 2 ;;
  esac
  tree=build/sanitizers/$kind
  rm -rf "$tree"
  mkdir -p "$tree"
  cp -r src native tests setup.py pyproject.toml README.md LICENSE* "$tree"
  rm -f "$tree"/src/taper/_native*.so
  (
    cd "$tree"
    CFLAGS="$flags -DTAPER_ONE_FORM" TAPER_DEBUG=1 "$python" setup.py -q build_ext --inplace
    ls src/taper/_native*.so > /dev/null
    export PYTHONPATH=$PWD/src:$PWD/tests LD_PRELOAD
    LD_PRELOAD=$(gcc -print-file-name="$runtime")
    export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1
    export TSAN_OPTIONS="halt_on_error=1 die_after_fork=0 suppressions=$PWD/../../../tools/sanitizers.txt"
    OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=1 "$python" -m pytest -q -p no:cacheprovider -p no:xdist "${tests[@]}"
  )
  echo "== $kind: nothing found"
done
