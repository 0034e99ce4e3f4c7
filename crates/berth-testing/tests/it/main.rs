//! The control plane and the kubelets are what tests believe them to be.

#[cfg(test)]
mod control_plane;
#[cfg(test)]
mod kubelet;
#[cfg(test)]
mod openshift;
