//! systemd unit files and the kubelet's command line.
