#!/bin/sh
# For initramfs-tools, with the root file system mounted and before it is switched to.
#
# First what the maker of an image would put there for this machine: an archive on the second disk. Then Ignition, once
# in the life of the machine, with the config that the firmware hands in, as on a real machine of this kind.
[ "$1" = prereqs ] && exit 0
[ -e "$rootmnt/etc/.ignition-result.json" ] && exit 0
stop() {
    tail -n 20 /run/ignition.log >/dev/console
    echo "e2e: $1 failed" >/dev/console
    poweroff -f
}
tar -xf /dev/vdb -C "$rootmnt" || stop "the archive of the image"
modprobe qemu_fw_cfg
for stage in fetch-offline fetch files; do
    ignition -stage="$stage" -platform=qemu -root="$rootmnt" -log-to-stdout -config-cache=/run/ignition.json \
        -state-file=/run/ignition.state -neednet=/run/ignition.neednet >>/run/ignition.log 2>&1 || stop "ignition $stage"
done
