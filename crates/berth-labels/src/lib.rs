//! Kubernetes node labels: syntax, selectors, who may set which key, and how a key reaches a Node.
