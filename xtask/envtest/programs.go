//go:build tools

// Package envtest only names what is built here, so that `go mod tidy` keeps it in go.mod and go.sum.
package envtest

import (
	// Its folders of custom resource definitions are what is wanted.
	_ "github.com/openshift/api/machineconfiguration/v1"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubelet"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
