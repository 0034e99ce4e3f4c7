// Command csr says how Kubernetes itself reads certificate requests: with the functions that kube-apiserver,
// kube-controller-manager's approver and its signer use. Tests hold Berth's reader against it.
//
// It reads JSON lines with `request` (PEM in base64) and `usages`, and answers each with one JSON line. With the argument
// `make NODE` it prints requests as a kubelet makes them instead, one JSON line for each kind of key.
package main

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/sets"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/pkg/apis/certificates"
)

type question struct {
	Request []byte   `json:"request"`
	Usages  []string `json:"usages"`
}

type answer struct {
	// Problem is why the request cannot be read; nothing else is said then.
	Problem       string   `json:"problem,omitempty"`
	CommonName    string   `json:"commonName"`
	Organizations []string `json:"organizations"`
	// Names counts the subject alternative names.
	Names int `json:"names"`
	// Subject counts the attributes of the subject, of any kind.
	Subject int `json:"subject"`
	// Extensions counts the requested extensions.
	Extensions int `json:"extensions"`
	// Signature is why the API server and the signer refuse the signature.
	Signature string `json:"signature,omitempty"`
	// Kubelet is why it is not the request of a kubelet for its client certificate.
	Kubelet string `json:"kubelet,omitempty"`
}

func judge(asked question) answer {
	request, err := certificates.ParseCSR(asked.Request)
	if err != nil {
		return answer{Problem: err.Error()}
	}
	said := answer{
		CommonName:    request.Subject.CommonName,
		Organizations: request.Subject.Organization,
		Names: len(request.DNSNames) + len(request.EmailAddresses) + len(request.IPAddresses) +
			len(request.URIs),
		Subject:    len(request.Subject.Names),
		Extensions: len(request.Extensions),
	}
	if err := request.CheckSignature(); err != nil {
		said.Signature = err.Error()
	}
	if err := certificates.ValidateKubeletClientCSR(request, sets.NewString(asked.Usages...)); err != nil {
		said.Kubelet = err.Error()
	}
	return said
}

// makeRequests prints what kubelets send: they use the same function with the same subject.
func makeRequests(node string, out *json.Encoder) error {
	curves := []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}
	keys := map[string]crypto.PrivateKey{}
	for _, curve := range curves {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			return err
		}
		keys[curve.Params().Name] = key
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	keys["RSA"] = rsaKey
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	keys["Ed25519"] = edKey
	subject := &pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node}
	for kind, key := range keys {
		request, err := certutil.MakeCSR(key, subject, nil, nil)
		if err != nil {
			return err
		}
		if err := out.Encode(map[string]any{"key": kind, "request": request}); err != nil {
			return err
		}
	}
	return nil
}

func run() error {
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	out := json.NewEncoder(writer)
	if len(os.Args) == 3 && os.Args[1] == "make" {
		return makeRequests(os.Args[2], out)
	}
	if len(os.Args) != 1 {
		return errors.New("usage: csr [make NODE]")
	}
	in := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<16))
	for {
		var asked question
		if err := in.Decode(&asked); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(judge(asked)); err != nil {
			return err
		}
		// Whoever asks may wait for this answer before the next question.
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
