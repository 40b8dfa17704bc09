package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

const (
	headerOfCRDs  = "# Generated from the CRDs that the project publishes; do not edit.\n"
	headerOfFacts = "# Generated from facts read in the published chart; do not edit, correct in data/added.\n"
)

// fact is what was read of one or more charts.
type fact struct {
	Chart        []string            `json:"chart"`
	Repositories []string            `json:"repositories"`
	Version      any                 `json:"version read"`
	CRDs         string              `json:"crds"`
	Folder       string              `json:"crd_folder"`
	Groups       map[string][]string `json:"groups"`
	Source       []string            `json:"source"`
}

// generate returns the files to write, by their path below the output folder.
func generate(facts, crds string) (map[string][]byte, error) {
	sets, err := readSets(crds)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(facts)
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	var list []fact
	if err := yaml.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	files := map[string][]byte{}
	if err := add(files, "crds", headerOfCRDs, sets); err != nil {
		return nil, err
	}
	entries := map[string][]catalogue.Entry{}
	for _, f := range list {
		for _, e := range f.entries(sets) {
			entries[e.Chart] = append(entries[e.Chart], e)
		}
	}
	return files, add(files, "charts", headerOfFacts, entries)
}

// add writes each value to a file of its name.
func add[V any](files map[string][]byte, folder, header string, values map[string]V) error {
	for name, value := range values {
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		files[folder+"/"+name+".yaml"] = append([]byte(header), text...)
	}
	return nil
}

// plainName is the name of a chart; facts about manifests have other names.
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// entries are those of the charts of a fact that are published somewhere.
func (f fact) entries(sets map[string]catalogue.Set) []catalogue.Entry {
	var out []catalogue.Entry
	for _, name := range f.Chart {
		if !plainName.MatchString(name) || len(f.Repositories) == 0 || f.Version == nil || len(f.Source) == 0 {
			continue
		}
		e := catalogue.Entry{Chart: name, Repositories: f.Repositories, Version: fmt.Sprint(f.Version), Source: f.Source}
		e.Common = common[name]
		if part, ok := f.crds(sets); ok {
			e.CRDs = []catalogue.CRDs{part}
		}
		out = append(out, e)
	}
	return out
}

// common are the names that charts of other projects have too.
var common = map[string]bool{
	"base": true, "gateway": true, "cni": true, "cluster": true, "nats": true, "grafana": true, "alertmanager": true, "valkey": true, "harbor": true,
	"gitea": true, "fleet": true, "redis-operator": true,
}

var (
	// without are the words of charts that do not bring the CRDs of their groups.
	without = []string{"not shipped", "separate", "not in the chart", "hook Job", "app runs", "only with", "subcharts", "itself"}
	gate    = regexp.MustCompile(`(?:gated by|on by) ([A-Za-z][A-Za-z0-9_.]*)(?: \(default (true|false))?`)
	also    = regexp.MustCompile(`; ([A-Za-z][A-Za-z0-9_.]*) is honoured too`)
)

// crds reads what the facts say of the CRDs of a chart. Words that are not
// understood say nothing.
func (f fact) crds(sets map[string]catalogue.Set) (catalogue.CRDs, bool) {
	set, ok := sets[f.Folder]
	own := strings.HasPrefix(f.CRDs, "this chart is the separate CRD chart") || strings.HasPrefix(f.CRDs, "separate chart: templates")
	if !ok || len(f.Groups) == 0 || f.CRDs == "" {
		return catalogue.CRDs{}, false
	}
	for _, word := range without {
		if strings.Contains(f.CRDs, word) && !own {
			return catalogue.CRDs{}, false
		}
	}
	part := catalogue.CRDs{Set: f.Folder, Kinds: f.kinds(set), Folder: strings.Contains(f.CRDs, "crds/ folder")}
	if m := gate.FindStringSubmatch(f.CRDs); m != nil && m[2] == "" {
		return catalogue.CRDs{}, false // the default is not known
	} else if m != nil {
		part.When = &catalogue.When{Value: strings.TrimSuffix(m[1], "."), Default: m[2] == "true"}
	}
	if m := also.FindStringSubmatch(f.CRDs); m != nil && part.When != nil {
		part.When = &catalogue.When{Any: []catalogue.When{*part.When, {Value: m[1]}}}
	}
	return part, true
}

// kinds chooses those of a set that the facts list; none where that is all.
func (f fact) kinds(set catalogue.Set) []string {
	var out []string
	all := true
	for _, c := range set.CRDs {
		if slices.Contains(f.Groups[c.Group], c.Kind) {
			out = append(out, c.Group+"/"+c.Kind)
		} else {
			all = false
		}
	}
	if all {
		return nil
	}
	slices.Sort(out)
	return out
}

// readSets reads one set from each folder, with its file SOURCE.
func readSets(root string) (map[string]catalogue.Set, error) {
	folders, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("read CRDs: %w", err)
	}
	sets := map[string]catalogue.Set{}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		set, err := readSet(filepath.Join(root, folder.Name()), folder.Name())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Name(), err)
		}
		sets[folder.Name()] = set
	}
	return sets, nil
}

// origin says where CRDs are from.
type origin struct {
	repository, tag, commit string
	paths                   []string
}

// readOrigin reads the lines "key: value" of a file SOURCE, and the list of paths.
func readOrigin(text string) origin {
	var o origin
	for line := range strings.Lines(text) {
		if item, ok := strings.CutPrefix(line, "  - "); ok {
			o.paths = append(o.paths, strings.TrimSpace(item))
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "repository":
			o.repository = value
		case "tag":
			o.tag = value
		case "commit":
			o.commit = value
		}
	}
	return o
}

func readSet(dir, name string) (catalogue.Set, error) {
	set := catalogue.Set{Set: name}
	raw, err := os.ReadFile(filepath.Join(dir, "SOURCE"))
	if err != nil {
		return set, fmt.Errorf("read where the CRDs are from: %w", err)
	}
	from := readOrigin(string(raw))
	commit := from.commit[:min(len(from.commit), shortCommit)]
	if commit == "" || from.repository == "" {
		return set, errors.New("the file SOURCE names no repository and commit")
	}
	set.Version = from.tag
	if set.Version == "" {
		set.Version = commit
	}
	set.Source = []string{strings.TrimPrefix(from.repository, "https://github.com/") + "@" + commit + ":" + folderOf(from.paths)}
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return set, err
	}
	for _, file := range names {
		text, err := os.ReadFile(file)
		if err != nil {
			return set, fmt.Errorf("read CRD: %w", err)
		}
		parsed, err := manifest.Parse(bytes.TrimSpace(text))
		if err != nil {
			return set, fmt.Errorf("read CRD %s: %w", filepath.Base(file), err)
		}
		for _, p := range parsed {
			// A kind of which no version is served cannot be used.
			if crd, ok := manifest.ReadCRD(p.Object); ok && len(crd.Versions) > 0 {
				set.CRDs = append(set.CRDs, catalogue.CRD{CRD: crd})
			}
		}
	}
	if len(set.CRDs) == 0 {
		return set, errors.New("there are no CRDs")
	}
	catalogue.SortCRDs(set.CRDs)
	return set, nil
}

// shortCommit is how much of a commit is kept.
const shortCommit = 12

// folderOf is the longest folder that all paths share; a single path is itself.
func folderOf(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	common := paths[0]
	for _, p := range paths[1:] {
		for common != "" && p != common && !strings.HasPrefix(p, common+"/") {
			common, _, _ = cutLast(common)
		}
	}
	return common
}

func cutLast(p string) (before, after string, ok bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p, false
	}
	return p[:i], p[i+1:], true
}
