#!/bin/sh
# In the machine: waits for the kubelet's registration, tells how the machine got there, tries the shapes, and ends.
set -u
out=/run/e2e
mkdir -p "$out/shapes"

until journalctl --boot --unit=kubelet.service --output=cat | grep --quiet 'Successfully registered node'; do
    sleep 1
done
cat /proc/uptime >"$out/uptime"
cat /proc/sys/kernel/random/boot_id >"$out/boot-id"
journalctl --list-boots --quiet >"$out/boots"
systemctl show --property=NRestarts --value kubelet.service >"$out/restarts"
cat "/proc/$(systemctl show --property=MainPID --value kubelet.service)/cmdline" >"$out/arguments"
cp /etc/.ignition-result.json "$out/ignition-result.json"
cp /run/systemd/generator/kubelet.service.d/50-berth.conf "$out/drop-in"
journalctl --boot --output=short-monotonic >"$out/journal"

if [ -d /var/lib/e2e/shapes ]; then
    systemctl stop kubelet.service
    cp /var/lib/e2e/labels /etc/berth/labels
    for shape in /var/lib/e2e/shapes/*; do
        result="$out/shapes/${shape##*/}"
        mkdir "$result"
        rm -rf /etc/systemd/system/kubelet.service.d /run/e2e-arguments
        mkdir /etc/systemd/system/kubelet.service.d
        cp "$shape/kubelet.service" /etc/systemd/system/
        for drop_in in "$shape"/*.conf; do
            cp "$drop_in" /etc/systemd/system/kubelet.service.d/
        done
        systemctl daemon-reload
        systemctl reset-failed kubelet.service
        if systemctl start kubelet.service 2>"$result/refusal"; then
            rm "$result/refusal"
            until [ -e /run/e2e-arguments ]; do sleep 0.1; done
            mv /run/e2e-arguments "$result/arguments"
            systemctl stop kubelet.service
        fi
        cp /run/systemd/generator/kubelet.service.d/50-berth.conf "$result/" 2>/dev/null
    done
fi
echo done >"$out/done"
tar -cf /dev/vdc -C "$out" .
sync
systemctl poweroff
