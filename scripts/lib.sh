# lib.sh -- what scripts/demo and scripts/test share: installing what is missing, building, finding NVRTC.
# Sourced, never run.  Leaves the shell in the root of the checkout.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
export LC_ALL=C
cores=$(nproc 2>/dev/null || echo 2)

say() {
    printf '%s\n' "$*"
}

# result_of KERNEL LOG: what `tegula run` came to.  Its last line begins "ok" or "FAILED"; where the kernel was not even
# run, all of a short message: the place, the line and what is wrong with it.
result_of() {
    case $(tail -n 1 "$2") in
    ok\ * | FAILED\ *) tail -n 1 "$2" ;;
    *)
        say "FAILED $1:"
        sed 's/^/    /' "$2" | head -n 12
        ;;
    esac
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Whether the compiler finds a header; without a compiler, whether it lies where Debian puts it.
have_header() {
    if have cc; then
        printf '#include <stddef.h>\n#include <stdio.h>\n#include <%s>\n' "$1" | cc -E -x c - >/dev/null 2>&1
    else
        [ -e "/usr/include/$1" ]
    fi
}

# ---- Debian packages --------------------------------------------------------------------------------------

# Prints the packages that building the tool lacks on this machine.
missing_for_build() {
    have cc || echo gcc libc6-dev
    have make || have ninja || echo make
    have cmake || echo cmake
    have_header yaml.h || echo libyaml-dev
    have_header xxhash.h || echo libxxhash-dev
    have_header uthash.h || echo uthash-dev
}

# Prints those that the tests lack besides.
missing_for_tests() {
    have_header criterion/criterion.h || echo libcriterion-dev
    have c++ || echo g++
    have clang || echo clang
    have clang-format || echo clang-format
    have pkg-config || echo pkg-config
}

# Leaves the command that runs apt-get as root in $as_root ("" for root itself); fails when there is none.
become_root() {
    as_root=
    if [ "$(id -u)" = 0 ]; then
        return 0
    fi
    as_root=sudo
    have sudo && sudo -v
}

# install_packages PACKAGE..: exit 3 with the one command for an administrator when this user may not.
install_packages() {
    [ $# -gt 0 ] || return 0
    if ! have apt-get; then
        say "missing: $*"
        say "Install these (the names are Debian's) with the package manager of this machine, then run $0 again."
        exit 3
    fi
    if ! become_root; then
        say "missing: $*"
        say "Neither root nor sudo is available.  Ask an administrator to run:"
        say "    apt-get update && apt-get install -y --no-install-recommends $*"
        exit 3
    fi
    say "installing: $*"
    apt_log=$(mktemp)
    if apt_install "$@" >"$apt_log" 2>&1; then
        rm -f "$apt_log"
        return 0
    fi
    tail -n 15 "$apt_log"
    rm -f "$apt_log"
    return 1
}

# The lists may be stale in part and the packages still be there, so only the second step decides.
apt_install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 update
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 \
        install --no-install-recommends "$@"
}

# What the build cannot do without.
install_for_build() {
    # shellcheck disable=SC2046
    install_packages $(missing_for_build) || {
        say "the packages could not be installed"
        exit 3
    }
}

# ---- building ---------------------------------------------------------------------------------------------

# build FOLDER CMAKE_OPTION..: quiet when all goes well, the end of the log when not.
build() {
    folder=$1
    shift
    mkdir -p "$folder"
    if cmake -S . -B "$folder" "$@" >"$folder/configure.log" 2>&1; then
        if cmake --build "$folder" -j "$cores" >"$folder/build.log" 2>&1; then
            return 0
        fi
        grep -E -B2 -A8 'error|warning|Error ' "$folder/build.log" | head -n 60
        say "building $folder failed; the whole log is $folder/build.log"
    else
        tail -n 25 "$folder/configure.log"
        say "configuring $folder failed; the whole log is $folder/configure.log"
    fi
    return 1
}

# ---- NVRTC ------------------------------------------------------------------------------------------------

# Whether the tool finds an NVRTC that compiles: asked by compiling.
have_nvrtc() {
    ./tegula emit thread_naive -p N=128 -p K=128 -p dtype=f16 --stage cubin --target sm_80 --no-cache -q \
        -o build/probe.cubin >build/nvrtc.log 2>&1
}

# The major CUDA version of the driver; nothing without a driver.
driver_major() {
    nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: \([0-9]*\)\..*/\1/p' | head -n 1
}

# Finds NVRTC or installs the Python package that carries it into build/venv; says so when neither works.
provide_nvrtc() {
    have_nvrtc && return 0
    package=nvidia-cuda-nvrtc
    [ "$(driver_major)" = 12 ] && package=nvidia-cuda-nvrtc-cu12 # NVRTC may not be newer than the driver
    say "NVRTC not found: installing the Python package $package into build/venv"
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null && have apt-get && become_root; then
        install_packages python3-venv || true
    fi
    if python3 -m venv build/venv >build/venv.log 2>&1 &&
        build/venv/bin/pip install -q "$package" >>build/venv.log 2>&1 && have_nvrtc; then
        return 0
    fi
    say "NVRTC is not to be had here (build/venv.log, build/nvrtc.log): cubins and GPU launches are left out"
    return 1
}
