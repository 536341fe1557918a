#!/usr/bin/env bash
# Runs the demo with a wheel for 64-bit ARM on x86-64, emulated:
#     scripts/emulated.sh FOLDER WHEEL BACKEND...
# The emulator of Debian 12 ends in ONNX Runtime: that of Debian's unstable suite and its Python are put into
# the folder, with the packages that the wheel asks for. Exit status 77: they cannot be had.
set -euo pipefail
mkdir -p "$1"/{lists,archives}/partial "$1"/root/usr/{bin,lib} "$1"/elsewhere
wheel=$(realpath "$2")
cd "$1"
shift 2

get() {
    packages=$(grep -hm1 '^URIs:' /etc/apt/sources.list.d/debian.sources) || return
    printf 'Types: deb\n%s\nSuites: sid\nComponents: main\nArchitectures: amd64 arm64\nSigned-By: %s\n' \
        "$packages" /usr/share/keyrings/debian-archive-keyring.gpg >sid.sources
    : >installed # nothing
    options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD"
        -o "Dir::State::lists=$PWD/lists" -o "Dir::State::status=$PWD/installed"
        -o "Dir::Cache::archives=$PWD/archives" -o APT::Sandbox::User=root
        -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Architectures::=amd64)
    apt-get "${options[@]}" update &&
        apt-get "${options[@]}" install -y --download-only --no-install-recommends python3.13 libstdc++6 &&
        apt-get "${options[@]}" download qemu-user:amd64 &&
        dpkg-deb -x qemu-user_*_amd64.deb emulator
}
if [[ ! -x emulator/usr/bin/qemu-aarch64 ]] && ! get >&2; then
    echo "The emulator cannot be had from Debian's unstable suite." >&2
    exit 77
fi
ln -sfn usr/lib root/lib
for package in archives/*.deb; do dpkg-deb -x "$package" root; done

# Python starts others of its kind by the name that it was started by.
python=$PWD/root/usr/bin/python-emulated
printf '#!/bin/sh\nexec %q -0 "$0" -L %q %q "$@"\n' "$PWD/emulator/usr/bin/qemu-aarch64" "$PWD/root" \
    "$PWD/root/usr/bin/python3.13" >"$python"
chmod +x "$python"

platforms=()
for minor in 28 27 26 17; do platforms+=(--platform "manylinux_2_${minor}_aarch64"); done
rm -rf packages
python3 -m pip --disable-pip-version-check install -q --target packages --only-binary=:all: \
    --implementation cp --python-version 3.13 "${platforms[@]}" "$wheel"
export PYTHONPATH=$PWD/packages
cd elsewhere
for backend; do
    "$python" -m sonnx_ort demo --backend "$backend"
done
