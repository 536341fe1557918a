#!/usr/bin/env bash
# Puts Python 3.14 of Debian's next release into a folder, and prints the path of its interpreter:
#     scripts/newer_python.sh FOLDER
# It has its own C library, and needs none of the machine's. patchelf has to be installed.
set -euo pipefail
mkdir -p "$1/lists/partial" "$1/packages/partial"
cd "$1"
packages=$(grep -hm1 '^URIs:' /etc/apt/sources.list.d/debian.sources)
printf 'Types: deb\n%s\nSuites: sid\nComponents: main\nSigned-By: %s\n' "$packages" \
    /usr/share/keyrings/debian-archive-keyring.gpg >sid.sources
options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD" -o "Dir::State::lists=$PWD/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
apt-get "${options[@]}" update >&2
(cd packages && apt-get "${options[@]}" download python3.14 python3.14-{minimal,venv} libpython3.14-{minimal,stdlib} \
    python3-pip-whl libc6 libgcc-s1 libstdc++6 zlib1g libbz2-1.0 libexpat1 libffi8 liblzma5 libsqlite3-0 libssl3t64 \
    libuuid1 libzstd1 >&2)
for package in packages/*.deb; do dpkg-deb -x "$package" .; done
# venv takes pip from here.
sed -i "s#'/usr/share/python-wheels/'#'$PWD/usr/share/python-wheels/'#" usr/lib/python3.14/_sysconfigdata*.py
libraries=$PWD/usr/lib/$(uname -m)-linux-gnu
patchelf --set-interpreter "$(echo "$PWD"/usr/lib*/ld-linux-*.so.*)" --force-rpath --set-rpath "$libraries" \
    usr/bin/python3.14
usr/bin/python3.14 -c 'import bz2, ctypes, lzma, sqlite3, ssl, zlib' >&2
echo "$PWD/usr/bin/python3.14"
