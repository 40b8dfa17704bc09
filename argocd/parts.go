package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/argoproj/argo-cd/v3/util/cli"
	"github.com/argoproj/argo-cd/v3/util/log"
	gitopsio "github.com/argoproj/gitops-engine/pkg/utils/io"
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

// helmClient is what the helm that Argo CD 3.2 ships says of itself. Source: argo-cd,
// hack/tool-versions.sh.
const helmClient = "v3.18.4"

// helm is the helm command of the repo server and of its kustomize. Kustomize asks for
// the version of the client, as nobody else does, and takes Helm 3 only, though what
// it calls is the same in Helm 4.
func helm(args []string) int {
	if len(args) > 0 && args[0] == "version" && (slices.Contains(args, "-c") || slices.Contains(args, "--client")) {
		fmt.Println(helmClient)
		return 0
	}
	command, err := helmcmd.NewRootCmd(os.Stdout, args, helmcmd.SetupLogging)
	if err == nil {
		command.SetArgs(args) // else it takes those of the process
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
