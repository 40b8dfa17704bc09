package main

import (
	"fmt"
	"io"
	"os"
	"syscall"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	sets "github.com/argoproj/argo-cd/v3/cmd/argocd-applicationset-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/util/log"
	"github.com/spf13/cobra"
	helmcmd "helm.sh/helm/v4/pkg/cmd"
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

// Names under which the repo server calls the binary.
const (
	helmName      = "helm"
	kustomizeName = "kustomize"
)

// runPart runs one part of Argo CD. It ends when standard input does, which the
// process that started it holds open.
func runPart(args []string) error {
	if len(args) == 0 {
		return usageError("part: the name of a part is missing")
	}
	var command *cobra.Command
	switch args[0] {
	case repoServer:
		command = reposerver.NewCommand()
	case applicationController:
		command = controller.NewCommand()
	case setController:
		command = sets.NewCommand()
	default:
		return usageError(fmt.Sprintf("part: there is no part %q", args[0]))
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		// Nobody waits for this process any more. It leads a group of its own, in
		// which are the commands that it started.
		_ = syscall.Kill(0, syscall.SIGKILL)
	}()
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	command.SetArgs(args[1:])
	command.SilenceUsage = true
	return command.Execute()
}

// helm is the helm command of the repo server.
func helm(args []string) int {
	command, err := helmcmd.NewRootCmd(os.Stdout, args, helmcmd.SetupLogging)
	if err == nil {
		err = command.Execute()
	}
	return code(err)
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
