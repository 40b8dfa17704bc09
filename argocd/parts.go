package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/argoproj/argo-cd/v3/util/cli"
	"github.com/argoproj/argo-cd/v3/util/log"
	gitopsio "github.com/argoproj/gitops-engine/pkg/utils/io"
	"k8s.io/klog/v2"
	kustomizecmd "sigs.k8s.io/kustomize/kustomize/v5/commands"
)

// The parts of Argo CD that run, by the names of its images' commands.
const (
	repoServer            = "argocd-repo-server"
	applicationController = "argocd-application-controller"
	setController         = "argocd-applicationset-controller"
)

// partCommand is the command with which the binary runs one part.
const partCommand = "part"

// garbage is how much of it there may be before it is collected, in percent of what
// is in use. Each definition of a kind has the application controller read the whole
// description of the API again: a rehearsal of examples/zerotouch, 18 components, took
// 81 s of its CPU time at the usual 100, and takes 55.
const garbage = 400

// readyFile is the descriptor to which a part writes a byte when it is ready.
const readyFile = 3

// Names under which the repo server calls the binary.
const (
	helmName      = "helm"
	kustomizeName = "kustomize"
)

// runPart runs one part of Argo CD with the arguments of the command run. It ends
// when standard input does, which the process that started it holds open.
func runPart(args []string) error {
	if len(args) == 0 {
		return usageError("part: the name of a part is missing")
	}
	var part func(ctx context.Context, o options, ready func()) error
	confine := confineController
	switch args[0] {
	case repoServer:
		part, confine = serveRepositories, confineRepositories
	case applicationController:
		part = controlApplications
	case setController:
		part = controlSets
	default:
		return usageError(fmt.Sprintf("part: there is no part %q", args[0]))
	}
	o, err := parseOptions(args[1:])
	if err != nil {
		return err
	}
	if err := os.Chdir(o.dir); err != nil { // sockets are named relative to it
		return fmt.Errorf("enter the folder: %w", err)
	}
	if err := confine(o); err != nil {
		return fmt.Errorf("confine %s: %w", args[0], err)
	}
	gitopsio.TempDir = ""          // the folder's own, not one that others of the machine share
	syscall.CloseOnExec(readyFile) // not for the commands that it starts
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		// Nobody waits for this process any more. It leads a group of its own, in
		// which are the commands that it started.
		_ = syscall.Kill(0, syscall.SIGKILL)
	}()
	debug.SetGCPercent(garbage)
	cli.SetLogFormat(log.JsonFormat)
	cli.SetLogLevel(o.logLevel)
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	return part(context.Background(), o, func() { _, _ = os.NewFile(readyFile, "ready").Write([]byte{1}) })
}

// helm runs the helm of the repo server and of its kustomize in place of this process.
func helm(args []string) int {
	program, err := helmProgram()
	if err == nil {
		err = syscall.Exec(program, append([]string{helmName}, args...), os.Environ())
	}
	fmt.Fprintf(os.Stderr, "ladder-argocd: run helm: %v\n", err)
	return 1
}

// helmProgram is the helm that this version of Argo CD ships, beside the binary: the
// command of Helm 3 is no package that could be linked. Source: argo-cd,
// hack/tool-versions.sh.
func helmProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	return filepath.Join(filepath.Dir(self), "ladder-argocd-helm"), nil
}

// kustomize is the kustomize command of the repo server.
func kustomize() int { return code(kustomizecmd.NewDefaultCommand().Execute()) }

// code is the exit code for an error that the command has told.
func code(err error) int {
	if err != nil {
		return 1
	}
	return 0
}
