// Command operator answers as OpenShift's Machine Config Operator does, from the libraries that the operator uses:
// Ignition's own parser and merge, its JSON and YAML encoders and OpenShift's types. Tests hold Berth's rendering and
// Ignition server against it.
//
// The operator's module itself is not built here (the module proxy gives single commits of 2025 only), so what it does
// between these libraries is written down here once more: the order of machine configs, the fields that win, the salted
// hash, and the files that its server appends.
//
// It reads JSON lines, each with one question, and answers each with one JSON line.
package main

import (
	"bufio"
	"crypto/md5"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sort"

	"github.com/clarketm/json"
	ignition "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/validate"
	"github.com/ghodss/yaml"
	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	prefix      = "machineconfiguration.openshift.io/"
	generatedBy = prefix + "generated-by-controller-version"
)

// salt begins everything that is hashed.
var salt = []byte{
	16, 124, 206, 228, 139, 56, 175, 175, 79, 229, 134, 118, 157, 154, 211, 110,
	25, 93, 47, 253, 172, 106, 37, 7, 174, 13, 160, 185, 110, 17, 87, 52,
	219, 131, 12, 206, 218, 141, 116, 135, 188, 181, 192, 151, 233, 62, 126, 165,
	64, 83, 179, 119, 15, 168, 208, 197, 146, 107, 58, 227, 133, 188, 238, 26,
	33, 26, 235, 202, 32, 173, 31, 234, 41, 144, 148, 79, 6, 206, 23, 22,
}

// question is one of: `yaml`, a value to write; `render`, machine configs to merge; `serve`, a rendered config to append to.
type question struct {
	Yaml   stdjson.RawMessage `json:"yaml"`
	Render *renderQuestion    `json:"render"`
	Serve  *serveQuestion     `json:"serve"`
}

type renderQuestion struct {
	Pool             string                   `json:"pool"`
	Configs          []*mcfgv1.MachineConfig  `json:"configs"`
	ControllerConfig *mcfgv1.ControllerConfig `json:"controllerConfig"`
}

type serveQuestion struct {
	Config     *mcfgv1.MachineConfig `json:"config"`
	KubeletCA  string                `json:"kubeletCA"`
	CloudCA    string                `json:"cloudCA"`
	Kubeconfig string                `json:"kubeconfig"`
}

type answer struct {
	// Problem is why there is no answer; nothing else is said then.
	Problem string             `json:"problem,omitempty"`
	Yaml    string             `json:"yaml,omitempty"`
	Name    string             `json:"name,omitempty"`
	Spec    stdjson.RawMessage `json:"spec,omitempty"`
	Config  stdjson.RawMessage `json:"config,omitempty"`
}

func reply(asked question) (answer, error) {
	switch {
	case asked.Render != nil:
		return render(asked.Render)
	case asked.Serve != nil:
		return serve(asked.Serve)
	default:
		text, err := yaml.JSONToYAML(asked.Yaml)
		return answer{Yaml: string(text)}, err
	}
}

func parse(raw []byte) (types.Config, error) {
	config, report, err := ignition.ParseCompatibleVersion(raw)
	if err != nil {
		return config, fmt.Errorf("%w: %s", err, report.String())
	}
	if report := validate.ValidateWithContext(config, nil); report.IsFatal() {
		return config, errors.New(report.String())
	}
	return config, nil
}

// inOrder has the worker's configs first and all others after them, each by name.
func inOrder(configs []*mcfgv1.MachineConfig) []*mcfgv1.MachineConfig {
	ordered := append([]*mcfgv1.MachineConfig(nil), configs...)
	other := func(config *mcfgv1.MachineConfig) bool { return config.Labels[prefix+"role"] != "worker" }
	sort.SliceStable(ordered, func(i, j int) bool {
		a, b := ordered[i], ordered[j]
		if other(a) != other(b) {
			return other(b)
		}
		return a.Name < b.Name
	})
	return ordered
}

func render(asked *renderQuestion) (answer, error) {
	configs := inOrder(asked.Configs)
	if len(configs) == 0 {
		return answer{}, errors.New("no configs")
	}
	merged := types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
	spec := mcfgv1.MachineConfigSpec{KernelArguments: []string{}, Extensions: []string{}, KernelType: "default"}
	if asked.ControllerConfig != nil {
		spec.OSImageURL = asked.ControllerConfig.Spec.BaseOSContainerImage
		spec.BaseOSExtensionsContainerImage = asked.ControllerConfig.Spec.BaseOSExtensionsContainerImage
	}
	for index, config := range configs {
		spec.FIPS = spec.FIPS || config.Spec.FIPS
		if kernel := config.Spec.KernelType; kernel == "realtime" || kernel == "64k-pages" {
			spec.KernelType = kernel
		}
		spec.KernelArguments = append(spec.KernelArguments, config.Spec.KernelArguments...)
		spec.Extensions = append(spec.Extensions, config.Spec.Extensions...)
		if config.Annotations[generatedBy] == "" {
			if image := config.Spec.OSImageURL; image != "" {
				spec.OSImageURL = image
			}
			if image := config.Spec.BaseOSExtensionsContainerImage; image != "" {
				spec.BaseOSExtensionsContainerImage = image
			}
		}
		if config.Spec.Config.Raw == nil {
			continue
		}
		child, err := parse(config.Spec.Config.Raw)
		if err != nil {
			return answer{}, err
		}
		if index == 0 {
			merged = child
			continue
		}
		// Contents without a compression must not inherit one.
		each(&child, func(file *types.File) {
			if file.Contents.Compression == nil {
				file.Contents.Compression = new(string)
			}
		})
		merged = ignition.Merge(merged, child)
		each(&merged, func(file *types.File) {
			if file.Contents.Compression != nil && *file.Contents.Compression == "" {
				file.Contents.Compression = nil
			}
		})
	}
	each(&merged, func(file *types.File) {
		if file.Overwrite == nil {
			overwrite := true
			file.Overwrite = &overwrite
		}
	})
	raw, err := json.Marshal(merged)
	if err != nil {
		return answer{}, err
	}
	spec.Config = runtime.RawExtension{Raw: raw}
	text, err := yaml.Marshal(spec)
	if err != nil {
		return answer{}, err
	}
	written, err := stdjson.Marshal(spec)
	if err != nil {
		return answer{}, err
	}
	hash := md5.Sum(append(append([]byte(nil), salt...), text...))
	return answer{Name: fmt.Sprintf("rendered-%s-%x", asked.Pool, hash), Spec: written, Yaml: string(text)}, nil
}

func each(config *types.Config, change func(*types.File)) {
	for index := range config.Storage.Files {
		change(&config.Storage.Files[index])
	}
}

func serve(asked *serveQuestion) (answer, error) {
	config, err := parse(asked.Config.Spec.Config.Raw)
	if err != nil {
		return answer{}, err
	}
	replaceOrAppend(&config, "/etc/kubernetes/kubelet-ca.crt", asked.KubeletCA)
	replaceOrAppend(&config, "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem", asked.CloudCA)
	name := asked.Config.Name
	annotations, err := json.Marshal(map[string]string{
		prefix + "currentConfig":    name,
		prefix + "desiredConfig":    name,
		prefix + "firstPivotConfig": name,
		prefix + "state":            "Done",
	})
	if err != nil {
		return answer{}, err
	}
	appendFile(&config, "/etc/machine-config-daemon/node-annotations.json", string(annotations))
	appendFile(&config, "/etc/kubernetes/kubeconfig", asked.Kubeconfig)
	content, err := json.MarshalIndent(asked.Config, "", "    ")
	if err != nil {
		return answer{}, err
	}
	appendFile(&config, "/etc/mcs-machine-config-content.json", string(content))
	empty, err := json.Marshal(types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}})
	if err != nil {
		return answer{}, err
	}
	encapsulated := asked.Config.DeepCopy()
	encapsulated.Spec.Config.Raw = empty
	content, err = json.Marshal(encapsulated)
	if err != nil {
		return answer{}, err
	}
	appendFile(&config, "/etc/ignition-machine-config-encapsulated.json", string(content))
	raw, err := json.Marshal(config)
	return answer{Config: raw}, err
}

func source(contents string) *string {
	text := (&url.URL{Scheme: "data", Opaque: "," + dataurl.Escape([]byte(contents))}).String()
	return &text
}

func appendFile(config *types.Config, path, contents string) {
	mode, overwrite := 0o644, true
	config.Storage.Files = append(config.Storage.Files, types.File{
		Node:          types.Node{Path: path, Overwrite: &overwrite},
		FileEmbedded1: types.FileEmbedded1{Contents: types.Resource{Source: source(contents)}, Mode: &mode},
	})
}

// replaceOrAppend changes nothing but the source of a file that is there.
func replaceOrAppend(config *types.Config, path, contents string) {
	if contents == "" {
		return
	}
	for index := range config.Storage.Files {
		if file := &config.Storage.Files[index]; file.Path == path {
			file.Contents.Source = source(contents)
			return
		}
	}
	appendFile(config, path, contents)
}

func run() error {
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	out := stdjson.NewEncoder(writer)
	in := stdjson.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<16))
	for {
		var asked question
		if err := in.Decode(&asked); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		said, err := reply(asked)
		if err != nil {
			said = answer{Problem: err.Error()}
		}
		if err := out.Encode(said); err != nil {
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
