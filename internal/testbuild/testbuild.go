// Package testbuild builds programs of the module for tests, so that their packages need
// not link what the programs have.
package testbuild

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// environment is that of the start: tests set HOME, below which go keeps what it has built.
var environment = os.Environ()

// Program is a program that was built.
type Program struct {
	path, root string
	// folders are those of the module that it is made of, one a line.
	folders string
}

// Build builds the command of a folder of the module as bin/NAME, where it is not up to
// date. Test processes that run at once build it once.
func Build(name, folder string) (*Program, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	p := &Program{path: filepath.Join(root, "bin", name), root: root}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
		return nil, err
	}
	built, err := open(filepath.Join(root, "bin", "."+name+".built"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = built.Close() }()
	if err := unix.Flock(int(built.Fd()), unix.LOCK_EX); err != nil { //nolint:gosec // a descriptor
		return nil, fmt.Errorf("lock %s: %w", built.Name(), err)
	}
	text, err := io.ReadAll(built)
	if err != nil {
		return nil, err
	}
	run := testRun()
	done, sources, _ := strings.Cut(string(text), "\n")
	if run == "" || done != run {
		same, err := p.build(folder)
		if err == nil && (!same || sources == "") {
			sources, err = folders(root, folder)
		}
		if err != nil {
			return nil, err
		}
		if err := built.Truncate(0); err != nil {
			return nil, err
		}
		if _, err := built.WriteAt([]byte(run+"\n"+sources), 0); err != nil {
			return nil, err
		}
	}
	p.folders = sources
	return p, nil
}

// build reports whether the program was up to date. Go gives a new time to one that it finds
// so; with the old one, the results of tests that have started it stay.
func (p *Program) build(folder string) (same bool, err error) {
	before, missing := os.Stat(p.path)
	if _, err := goCommand(p.root, "build", "-ldflags=-w", "-buildvcs=false", "-o", p.path, folder); err != nil { // half the time to link
		return false, err
	}
	after, err := os.Stat(p.path)
	if err != nil || missing != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
		return false, err
	}
	return true, os.Chtimes(p.path, before.ModTime(), before.ModTime())
}

// open opens a file, or makes it, without package os: what a test opens by that is among
// what its result depends on for "go test", and this file changes with every build.
func open(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil //nolint:gosec // a descriptor
}

// folders are those of the module that a command is made of, one a line.
func folders(root, command string) (string, error) {
	const format = `{{with .Module}}{{if .Main}}{{$.Dir}}/.{{range $.EmbedFiles}}
{{$.Dir}}/{{.}}{{end}}{{end}}{{end}}`
	files, err := goCommand(root, "list", "-deps", "-f", format, command)
	if err != nil {
		return "", err
	}
	var all []string
	for file := range strings.Lines(files) {
		if file = strings.TrimSpace(file); file != "" {
			all = append(all, filepath.Dir(file))
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n"), nil
}

// Use returns the path of the program. A test that calls it is run anew when what the
// program is made of has changed, of which "go test" knows by what a test opens, from the
// beginning of testing.M.Run on.
func (p *Program) Use() (string, error) {
	if _, err := os.Stat(filepath.Join(p.root, "go.mod")); err != nil {
		return "", err
	}
	for folder := range strings.SplitSeq(p.folders, "\n") {
		file, err := os.Open(folder)
		if err != nil {
			return "", err
		}
		_ = file.Close()
	}
	return p.path, nil
}

func goCommand(dir string, arguments ...string) (string, error) {
	command := exec.Command("go", arguments...)
	command.Dir, command.Env = dir, environment
	var said, failed bytes.Buffer
	command.Stdout, command.Stderr = &said, &failed
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("go %s for a test: %w\n%s%s", arguments[0], err, said.String(), failed.String())
	}
	return said.String(), nil
}

// testRun identifies the go command that runs this test: its process and the moment at
// which that began. All packages of one go test have the same, so that one of them builds
// a program for all; go takes 2.5 s of CPU time to find that nothing has changed. It is
// empty where something else runs the test.
func testRun() string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getppid()))
	if err != nil {
		return ""
	}
	// Source: proc_pid_stat(5): the process, its name in parentheses, 19 numbers, its start.
	before, after, _ := strings.Cut(string(stat), "(go) ")
	fields := strings.Fields(after)
	if before == "" || len(fields) < 20 {
		return ""
	}
	return before + fields[19]
}

// Root is the top of the module of the test.
func Root() (string, error) {
	mod, err := goCommand("", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(mod)), nil
}
