#!/usr/bin/env bash
# Puts the C header of ONNX Runtime into a folder, from the package of Debian 13, and prints its path:
#     scripts/onnxruntime_header.sh FOLDER
# Some tests compare the kernels' own declarations with it, and build the example in C++.
set -euo pipefail
mkdir -p "$1/lists/partial"
cd "$1"
packages=$(grep -hm1 '^URIs:' /etc/apt/sources.list.d/debian.sources)
printf 'Types: deb\n%s\nSuites: trixie\nComponents: main\nSigned-By: %s\n' "$packages" \
    /usr/share/keyrings/debian-archive-keyring.gpg >trixie.sources
options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD" -o "Dir::State::lists=$PWD/lists")
apt-get "${options[@]}" update >&2
apt-get "${options[@]}" download libonnxruntime-dev >&2
dpkg-deb -x libonnxruntime-dev_*.deb .
ls "$PWD"/usr/include/onnxruntime/onnxruntime_c_api.h
