package child

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
)

// Names of the files in a plane's folder.
const (
	// KubeconfigFile is the administrator's kubeconfig.
	KubeconfigFile = "kubeconfig"
	// LogFile receives the logs of the control plane.
	LogFile = "plane.log"
	// LockFile is locked (flock) while the plane or its parent lives.
	LockFile = "lock"
)

// ClockPath is where the API server of a plane takes orders about the clock of the
// simulated world; see package idle.
const ClockPath = "/ladder/clock"

// DefaultMemory is the most that the process of a plane takes, in bytes: twice what 335
// CRDs with what they define take while they are installed.
const DefaultMemory = 6 << 30

// DefaultNodes is the number of simulated nodes of a plane.
const DefaultNodes = 3

// Options are the arguments of `ladder plane run`.
type Options struct {
	// Dir is the plane's folder; it must exist. Everything the plane writes is
	// inside.
	Dir string
	// Name appears as the cluster and context of the kubeconfig.
	Name string
	// Port is the API server's port on the loopback address; 0 takes a free one.
	Port int
	// Nodes is the number of simulated nodes.
	Nodes int
	// Memory is the most that the process takes, in bytes; a plane that takes more ends.
	Memory uint64
	// Remove makes the plane delete Dir when it ends in order.
	Remove bool
	// Verbose sends the control plane's logs to standard error too, and more of
	// them.
	Verbose bool
	// Plain makes the plane begin with an empty etcd and not with what every plane
	// has; a test compares the two.
	Plain bool
	// Confine is a confine.Mode: how what evaluates rules of a repository is confined.
	Confine string
	// World are arguments for the simulated world, passed on as they are.
	World []string
}

// Arguments are the command line that Parse reads back, after `plane run`.
func (o Options) Arguments() []string {
	args := []string{
		"--dir", o.Dir,
		"--name", o.Name,
		"--port", strconv.Itoa(o.Port),
		"--nodes", strconv.Itoa(o.Nodes),
	}
	if o.Memory != 0 {
		args = append(args, "--memory", strconv.FormatUint(o.Memory, 10))
	}
	if o.Confine != "" {
		args = append(args, "--confine", o.Confine)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"--remove", o.Remove}, {"--verbose", o.Verbose}, {"--plain", o.Plain}} {
		if f.set {
			args = append(args, f.name)
		}
	}
	if len(o.World) > 0 {
		args = append(append(args, "--"), o.World...)
	}
	return args
}

// Parse reads the command line after `plane run`.
func Parse(args []string) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("plane run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Dir, "dir", "", "folder of the plane")
	flags.StringVar(&o.Name, "name", "plane", "name of the cluster in the kubeconfig")
	flags.IntVar(&o.Port, "port", 0, "port of the API server, 0 for a free one")
	flags.IntVar(&o.Nodes, "nodes", DefaultNodes, "simulated nodes")
	flags.Uint64Var(&o.Memory, "memory", DefaultMemory, "most memory of the process, in bytes")
	flags.StringVar(&o.Confine, "confine", "", "how the kernel confines what evaluates rules")
	flags.BoolVar(&o.Remove, "remove", false, "delete the folder at the end")
	flags.BoolVar(&o.Verbose, "verbose", false, "log to standard error too")
	flags.BoolVar(&o.Plain, "plain", false, "begin with an empty etcd")
	if err := flags.Parse(args); err != nil {
		return Options{}, fmt.Errorf("plane run: %w", err)
	}
	if flags.NArg() > 0 {
		o.World = flags.Args()
	}
	if o.Dir == "" {
		return Options{}, errors.New("plane run: --dir is missing")
	}
	if o.Port < 0 || o.Port > 65535 {
		return Options{}, fmt.Errorf("plane run: --port %d is not a port", o.Port)
	}
	if o.Nodes < 0 {
		return Options{}, fmt.Errorf("plane run: --nodes %d is negative", o.Nodes)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Options{}, fmt.Errorf("plane run: %w", err)
	}
	o.Dir = dir
	return o, nil
}
