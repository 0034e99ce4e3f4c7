#!/bin/sh
# Stands for the kubelet: writes the arguments that systemd gave it, each ended by a zero byte.
printf '%s\0' "$@" >/run/e2e-arguments.new
mv /run/e2e-arguments.new /run/e2e-arguments
exec sleep infinity
