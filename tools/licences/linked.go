package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is a module that is linked into a binary.
type module struct {
	path, version, dir string
	// packages are the folders of its linked packages, binaries the names of what
	// it is linked into.
	packages, binaries []string
	licences           []licence
}

// folders are those of the packages and all above them, sorted.
func (m *module) folders() []string {
	var all []string
	for _, p := range m.packages {
		for p != m.dir && strings.HasPrefix(p, m.dir) {
			all = append(all, p)
			p = filepath.Dir(p)
		}
	}
	all = append(all, m.dir)
	slices.Sort(all)
	return slices.Compact(all)
}

// linked are the modules of all binaries on all platforms, sorted.
func linked() ([]*module, error) {
	root, err := output(".", "", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	by := map[string]*module{}
	for _, b := range binaries {
		for _, system := range []string{"linux", "darwin"} {
			if err := list(by, b.name, b.folder, b.pkg, system); err != nil {
				return nil, err
			}
		}
		// The standard library, whose licence is in the folder above it.
		dir := strings.TrimSpace(string(root))
		add(by, b.name, "Go and its standard library", "", dir, dir)
	}
	var all []*module
	for _, m := range by {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *module) int { return strings.Compare(a.path+" "+a.version, b.path+" "+b.version) })
	return all, nil
}

// list adds the modules of a binary on a system.
func list(by map[string]*module, binary, folder, pkg, system string) error {
	text, err := output(folder, system, "list", "-deps", "-json=Dir,Module", pkg)
	if err != nil {
		return err
	}
	type described struct{ Path, Version, Dir string }
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var p struct {
			Dir    string
			Module *struct {
				described
				Replace *described
			}
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what go list wrote: %w", err)
		}
		if p.Module == nil || p.Module.Path == own || strings.HasPrefix(p.Module.Path, own+"/") {
			continue
		}
		m := p.Module.described
		if r := p.Module.Replace; r != nil {
			m.Version, m.Dir = r.Version, r.Dir
			if r.Path != m.Path {
				m.Path += " => " + r.Path
			}
		}
		add(by, binary, m.Path, m.Version, m.Dir, p.Dir)
	}
}

func add(by map[string]*module, binary, path, version, dir, pkg string) {
	key := path + "@" + version
	if by[key] == nil {
		by[key] = &module{path: path, version: version, dir: dir}
	}
	m := by[key]
	m.packages = append(m.packages, pkg)
	if !slices.Contains(m.binaries, binary) {
		m.binaries = append(m.binaries, binary)
	}
}

// output is what the go command writes in a folder, for a system.
func output(folder, system string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}
