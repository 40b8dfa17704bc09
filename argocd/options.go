package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// options are the arguments of the command run.
type options struct {
	kubeconfig string
	dir        string
	namespace  string
	// reconcile is how often Argo CD looks at an Application and a repository
	// anew when nothing tells it to.
	reconcile time.Duration
	// waveDelay is how long it rests between two sync waves.
	waveDelay time.Duration
	logLevel  string
	// clientQPS bounds the requests per second of each controller to the API server;
	// 0 leaves it at Argo CD's own 50.
	clientQPS int
	// objectHealth has the status of Applications say how healthy each object is.
	objectHealth bool
	// confine says whether the kernel confines the parts and their commands: auto and
	// required, which are one here, or off; offline keeps them from the network.
	confine string
	offline bool
	// repositories is the folder of those of this machine that may be read.
	repositories string
}

// parseOptions reads the command line of run.
func parseOptions(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "of the control plane")
	f.StringVar(&o.dir, "dir", "", "folder for everything that is written")
	f.StringVar(&o.namespace, "namespace", "argocd", "of the Applications and the settings")
	f.DurationVar(&o.reconcile, "reconcile", 10*time.Second, "time between two looks at an Application and at its repository")
	f.DurationVar(&o.waveDelay, "wave-delay", 0, "rest between two sync waves; Argo CD's own is 2s")
	f.IntVar(&o.clientQPS, "client-qps", 0, "requests per second of each controller to the API server; 0 for Argo CD's own 50")
	f.BoolVar(&o.objectHealth, "object-health", false, "keep the health of each object in the status of its Application, as Argo CD can (controller.resource.health.persist)")
	f.StringVar(&o.confine, "confine", "auto", "confinement by the kernel: auto, required or off")
	f.BoolVar(&o.offline, "offline", false, "fetch nothing")
	f.StringVar(&o.repositories, "repositories", "", "folder of the repositories of this machine (file://) that may be read")
	f.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return o, usageError("run: " + err.Error())
	}
	if f.NArg() > 0 {
		return o, usageError(fmt.Sprintf("run: unexpected argument %q", f.Arg(0)))
	}
	for name, path := range map[string]*string{"kubeconfig": &o.kubeconfig, "dir": &o.dir} {
		if *path == "" {
			return o, usageError("run: --" + name + " is missing")
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, fmt.Errorf("find %s: %w", *path, err)
		}
		*path = absolute
	}
	if o.repositories != "" && !filepath.IsAbs(o.repositories) {
		return o, usageError("run: --repositories must be an absolute path")
	}
	if o.reconcile <= 0 || o.waveDelay < 0 || o.clientQPS < 0 {
		return o, usageError("run: --reconcile must be above zero, --wave-delay and --client-qps may not be below")
	}
	return o, nil
}
