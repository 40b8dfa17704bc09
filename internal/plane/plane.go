package plane

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/plane/child"
)

// EmptyWorld is the argument in Options.World that leaves the simulated world
// out: pods are scheduled and nothing runs them.
const EmptyWorld = "--empty"

// Options say what plane to start. The zero value is a throwaway plane with the
// default number of nodes.
type Options struct {
	// Dir is the plane's folder, which is made, and removed at the end; empty
	// takes a fresh temporary one.
	Dir string
	// Name is that of the cluster and context in the kubeconfig; default "ladder".
	Name string
	// Port is the API server's port on 127.0.0.1; 0 takes a free one.
	Port int
	// Nodes is the number of simulated nodes; 0 takes child.DefaultNodes.
	Nodes int
	// Memory is the most that the plane's process takes, in bytes, before it ends; 0
	// takes child.DefaultMemory.
	Memory uint64
	// World are arguments for the simulated world inside the plane.
	World []string
	// Log receives the control plane's logs when it is set; they are verbose then.
	Log io.Writer
	// Executable is the ladder binary; empty takes the running one.
	Executable string
	// Timeout bounds the wait until the plane is ready; default 1 minute.
	Timeout time.Duration
}

const (
	defaultName    = "ladder"
	defaultTimeout = time.Minute
)

// Plane is a running control plane.
type Plane struct {
	// Name is the plane's name in its registry, or Options.Name.
	Name string
	// Dir is the plane's folder.
	Dir string
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// Server is the API server's address, https://127.0.0.1:port.
	Server string
	// PID is the plane's process.
	PID int
	// Started is when the plane was asked for.
	Started time.Time
	// ReadyAfter is how long it took from there until everything was ready.
	ReadyAfter time.Duration

	// process is nil for a plane that another process started.
	process *process
}

// RESTConfig is the administrator's access to the plane, without client-side
// rate limits: the API server has its own fairness.
func (p *Plane) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of plane %s: %w", p.Name, err)
	}
	config.QPS = -1
	config.UserAgent = "ladder"
	return config, nil
}

// Done is closed when the plane has ended. It is nil, and so never ready, for a
// plane that another process started.
func (p *Plane) Done() <-chan struct{} {
	if p.process == nil {
		return nil
	}
	return p.process.done
}

// LastWords is why the plane ended by itself, as far as it could tell.
func (p *Plane) LastWords() string {
	for _, line := range slices.Backward(tail(filepath.Join(p.Dir, child.LogFile), lastWordsBytes)) {
		if words, ok := strings.CutPrefix(line, child.LastWords); ok {
			return words
		}
	}
	return ""
}

// process is a child of this process that runs a plane.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lock    *os.File
	done    chan struct{}
}
