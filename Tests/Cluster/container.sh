#!/bin/sh
# Becomes the first process of a container: container.sh ROOT IMAGE NAME USER GROUP GROUPS ACCESS MOUNT... -- NAME=VALUE... PROGRAM ARGUMENT...
#
# ROOT is an empty folder, in which the root file system is mounted: the system's /usr below that of
# IMAGE, and what each MOUNT (SOURCE:DESTINATION:ro or rw) names. ACCESS is 'ro' or 'rw', for the
# root. Runs in mount, UTS and process namespaces of its own.
set -eu
root=$1 image=$2 name=$3 user=$4 group=$5 groups=$6 access=$7
shift 7
echo "$name" >/proc/sys/kernel/hostname
mount -t tmpfs -o mode=755 tmpfs "$root"

# bind SOURCE DESTINATION ACCESS
bind() {
    if [ -d "$1" ]; then mkdir -p "$root$2"; else
        mkdir -p "$(dirname "$root$2")"
        : >"$root$2"
    fi
    mount --bind "$1" "$root$2"
    mount -o "remount,bind,$3,nosuid" "$root$2"
}

mkdir -p "$root/usr" "$root/etc" "$root/proc" "$root/tmp"
# Only lower layers, so it is read-only.
mount -t overlay -o "lowerdir=$image/usr:/usr" overlay "$root/usr"
for link in bin sbin lib lib32 lib64; do
    if [ -L "/$link" ]; then cp -P "/$link" "$root/$link"; elif [ -d "/$link" ]; then bind "/$link" "/$link" ro; fi
done
for file in group ld.so.cache nsswitch.conf passwd; do cp "/etc/$file" "$root/etc/$file"; done
: >"$root/etc/resolv.conf"
if [ -d /etc/ssl ]; then bind /etc/ssl /etc/ssl ro; fi
for file in full null random urandom zero; do bind "/dev/$file" "/dev/$file" rw; done
mount -t proc proc "$root/proc"
while [ "$1" != -- ]; do
    access_of=${1##*:} pair=${1%:*}
    bind "${pair%%:*}" "${pair#*:}" "$access_of"
    shift
done
shift
mount -o "remount,$access" "$root"
cd "$root"
exec chroot "$root" /usr/bin/setpriv --reuid "$user" --regid "$group" --groups "$groups" --no-new-privs \
    --inh-caps=-all --ambient-caps=-all --bounding-set=-all /usr/bin/env -i "$@"
