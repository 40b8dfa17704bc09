package helm

import (
	"encoding/base64"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	"helm.sh/helm/v4/pkg/chart/common"
	"sigs.k8s.io/yaml"
)

// files is what templates see as .Files: the files of a chart that are neither
// templates nor part of its definition. Source: Helm, "Accessing Files Inside
// Templates".
type files map[string][]byte

func newFiles(from []*common.File) files {
	out := files{}
	for _, f := range from {
		out[f.Name] = f.Data
	}
	return out
}

// GetBytes returns the content of a file; nothing when there is none.
func (f files) GetBytes(name string) []byte {
	if data, ok := f[name]; ok {
		return data
	}
	return []byte{}
}

// Get returns the content of a file; nothing when there is none.
func (f files) Get(name string) string { return string(f.GetBytes(name)) }

// Glob returns the files whose names match a pattern; one that cannot be read
// matches everything.
func (f files) Glob(pattern string) files {
	match, err := glob.Compile(pattern, '/')
	if err != nil {
		match = glob.MustCompile("**")
	}
	out := files{}
	for name, data := range f {
		if match.Match(name) {
			out[name] = data
		}
	}
	return out
}

// AsConfig returns the files as YAML for the data of a ConfigMap.
func (f files) AsConfig() string {
	return f.flat(func(data []byte) string { return string(data) })
}

// AsSecrets returns the files as YAML for the data of a Secret.
func (f files) AsSecrets() string { return f.flat(base64.StdEncoding.EncodeToString) }

func (f files) flat(encode func([]byte) string) string {
	if f == nil {
		return ""
	}
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(f)) { // later folders win over earlier ones
		out[path.Base(name)] = encode(f[name])
	}
	data, err := yaml.Marshal(out)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

// Lines returns the lines of a file.
func (f files) Lines(name string) []string {
	data := string(f[name])
	if data == "" {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(data, "\n"), "\n")
}
