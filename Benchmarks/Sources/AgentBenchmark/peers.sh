#!/bin/sh
# Unpacks and runs the other KCM servers from Debian's packages, without installing them.
#   peers.sh unpack FOLDER
#   peers.sh serve heimdal|sssd FOLDER COMMAND…    runs COMMAND while the server listens on the default path, with its process
#                                                     identifier in SERVER; requires root and its own mount namespace
set -eu

packages="sssd-kcm sssd-common libdhash1 libldb2 libtalloc2 libtevent0 libtdb1 libpopt0 libini-config5 libcollection4 libref-array1
    libbasicobjects0 libpath-utils1 heimdal-kcm libhcrypto5-heimdal libheimntlm0-heimdal libkrb5-26-heimdal libroken19-heimdal
    libasn1-8-heimdal libwind0-heimdal libheimbase1-heimdal libhx509-5-heimdal"
socket=/var/run/.heim_org.h5l.kcm-socket

unpack() {
    [ ! -e "$1/complete" ] || return 0
    rm -rf "$1"
    mkdir -p "$1/packages"
    cd "$1/packages"
    # shellcheck disable=SC2086
    apt-get download -qq $packages >../log 2>&1 || { tail -1 ../log >&2; exit 1; }
    for package in *.deb; do dpkg -x "$package" ..; done
    cd ..
    rm -r packages
    touch complete
}

# Mounts an overlay on a system directory, so that the server can write there without changing it.
cover() {
    mkdir -p "/run/covers$1/changes" "/run/covers$1/work"
    mount -t overlay -o "lowerdir=$1,upperdir=/run/covers$1/changes,workdir=/run/covers$1/work" overlay "$1"
}

start() {
    libraries=$(echo "$2"/usr/lib/*-linux-gnu)
    case $1 in
    heimdal) LD_LIBRARY_PATH=$libraries "$2/usr/sbin/kcm" >/dev/null 2>&1 & ;;
    sssd)
        cover /etc
        cover /var/lib
        cover /var/log
        mkdir -p /etc/sssd /var/log/sssd /var/lib/sss/db /var/lib/sss/secrets /var/lib/sss/pipes/private
        rm -rf /var/lib/sss/secrets/*
        printf '[sssd]\n[kcm]\n' >/etc/sssd/sssd.conf
        chmod 600 /etc/sssd/sssd.conf
        LDB_MODULES_PATH=$libraries/samba/ldb LD_LIBRARY_PATH=$libraries:$libraries/sssd \
            "$2/usr/libexec/sssd/sssd_kcm" --uid 0 --gid 0 --logger=files >/dev/null 2>&1 &
        ;;
    esac
    server=$!
}

serve() {
    name=$1 folder=$2
    shift 2
    mount -t tmpfs tmpfs /run
    start "$name" "$folder"
    trap 'kill $server 2>/dev/null' EXIT
    waited=0
    until [ -S "$socket" ]; do
        kill -0 $server 2>/dev/null || { echo "$name's server exited immediately" >&2; exit 1; }
        waited=$((waited + 1))
        [ $waited -lt 200 ] || { echo "$name's server does not listen" >&2; exit 1; }
        sleep 0.05
    done
    SERVER=$server "$@"
}

command=$1
shift
case $command in
unpack) unpack "$@" ;;
serve) serve "$@" ;;
esac
