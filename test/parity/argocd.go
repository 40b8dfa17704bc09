package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// programs are the built commands of Argo CD's side.
type programs struct {
	reader string
	// path is a folder in which helm and kustomize are.
	path string
}

// newPrograms finds the commands in a folder, and lets ladder-argocd be called as helm
// and kustomize in dir.
func newPrograms(bin, dir string) (programs, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return programs{}, err
	}
	p := programs{reader: filepath.Join(bin, "ladder-argocd-read"), path: dir}
	argocd := filepath.Join(bin, "ladder-argocd")
	for _, file := range []string{p.reader, argocd} {
		if _, err := os.Stat(file); err != nil {
			return programs{}, fmt.Errorf("%w; make argocd builds it", err)
		}
	}
	for _, name := range []string{"helm", "kustomize"} {
		if err := os.Symlink(argocd, filepath.Join(dir, name)); err != nil {
			return programs{}, err
		}
	}
	return p, nil
}

// read has Argo CD's code read a repository. home is for what helm and git keep.
func (p programs) read(ctx context.Context, q request, home string) (result, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return result{}, err
	}
	command := exec.CommandContext(ctx, p.reader)
	command.Stdin = bytes.NewReader(text)
	// Git asks nobody, and no setting of the user counts.
	command.Env = []string{"PATH=" + p.path + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Run(); err != nil {
		return result{}, fmt.Errorf("Argo CD's reading: %w: %s", err, &complaints)
	}
	var r result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return result{}, fmt.Errorf("Argo CD's reading: %w", err)
	}
	return r, nil
}
