package manifest

import "sigs.k8s.io/yaml"

// Unmarshal reads YAML as Kubernetes does, into a value with JSON tags. Aliases are
// bounded before they are expanded, see CheckAliases: a megabyte of them, each of a long
// text, stands for a hundred gigabytes.
func Unmarshal(data []byte, to any) error {
	if err := CheckAliases(data); err != nil {
		return err
	}
	return yaml.Unmarshal(data, to)
}
