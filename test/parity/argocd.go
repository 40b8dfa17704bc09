package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// request and result are those of ladder-argocd-read.
type request struct {
	Address      string           `json:"address"`
	Own          []string         `json:"own"`
	Namespace    string           `json:"namespace"`
	NewGlobbing  bool             `json:"newGlobbing"`
	KubeVersion  string           `json:"kubeVersion"`
	APIVersions  []string         `json:"apiVersions"`
	BuildOptions string           `json:"buildOptions"`
	Versions     []string         `json:"versions"`
	Clusters     []cluster        `json:"clusters"`
	Roots        []map[string]any `json:"roots"`
}

type cluster struct {
	Name        string            `json:"name"`
	Server      string            `json:"server"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type result struct {
	Applications []application `json:"applications"`
	Failures     []struct{ Name, Reason string }
}

type application struct {
	Name, Set, Parent string
	Spec              map[string]any
	Types             []string
	Objects           []map[string]any
	Elsewhere         bool
	Failure           string
}

// reader is the running command of Argo CD's side. It is for one goroutine.
type reader struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	said    bytes.Buffer
	ended   bool
}

// mostSaid is how much is kept of what the command said when it ended, in bytes.
const mostSaid = 4000

// start starts ladder-argocd-read of a folder, with ladder-argocd as its helm and
// kustomize. What it writes is in dir.
func start(ctx context.Context, bin, dir string) (*reader, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	programs, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
	for _, folder := range []string{programs, home} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"helm", "kustomize"} {
		if err := os.Symlink(filepath.Join(bin, "ladder-argocd"), filepath.Join(programs, name)); err != nil {
			return nil, err
		}
	}
	r := &reader{command: exec.CommandContext(ctx, filepath.Join(bin, "ladder-argocd-read"))}
	// Git asks nobody, and no setting of the user counts.
	r.command.Env = []string{
		"PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	}
	r.command.Stderr = &r.said
	if r.in, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = json.NewDecoder(out)
	return r, r.command.Start()
}

// read has Argo CD's code read a repository.
func (r *reader) read(q request) (result, error) {
	var answer result
	err := json.NewEncoder(r.in).Encode(q)
	if err == nil {
		err = r.out.Decode(&answer)
	}
	if err != nil {
		r.stop()
		said := r.said.Bytes()
		return result{}, fmt.Errorf("Argo CD's reading: %w: ...%s", err, said[max(0, len(said)-mostSaid):])
	}
	return answer, nil
}

// stop ends the command.
func (r *reader) stop() {
	if r.ended {
		return
	}
	r.ended = true
	_ = r.in.Close()
	_ = r.command.Wait() // what it has to say it has said
}
