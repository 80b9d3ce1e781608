#!/bin/sh
# Unpacks Debian's packages without installing them, and prints the value of LD_LIBRARY_PATH for their programs.
#   unpack.sh FOLDER PACKAGE…
set -eu

folder=$1
shift
if [ "$(cat "$folder/complete" 2>/dev/null)" != "$*" ]; then
    rm -rf "$folder"
    mkdir -p "$folder/packages"
    cd "$folder/packages"
    apt-get download -qq "$@" >../log 2>&1 || { tail -1 ../log >&2; exit 1; }
    for package in *.deb; do dpkg -x "$package" ..; done
    cd ..
    rm -r packages
    echo "$*" >complete
fi
cd "$folder"
path=
for libraries in "$PWD"/lib/*-linux-gnu "$PWD"/usr/lib/*-linux-gnu; do path=$path${path:+:}$libraries; done
echo "$path"
