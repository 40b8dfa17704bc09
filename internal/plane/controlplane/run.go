package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/rollout-ladder/ladder/internal/plane/child"
	"github.com/rollout-ladder/ladder/internal/plane/egress"
	"github.com/rollout-ladder/ladder/internal/plane/pki"
	"github.com/rollout-ladder/ladder/internal/plane/prebaked"
)

// World is what a simulated world gets from its plane.
type World struct {
	// Config is the administrator's access, without client-side rate limits.
	Config *rest.Config
	// Certificates make servers that the API server trusts for webhooks.
	Certificates egress.Certificates
	// Serve makes the backend answer the API server's connections into the
	// cluster. Until it is called they are refused.
	Serve func(egress.WebhookBackend)
	// Orders makes a handler answer at child.ClockPath, to administrators; nil, as before the
	// first call, is not found.
	Orders func(http.Handler)
	// Ready must be called once: the plane is not ready before.
	Ready func()
	// Arguments are those of child.Options.World.
	Arguments []string
	// Dir is the plane's folder; the world may keep files below Dir/world.
	Dir string
}

// Options are what a plane needs besides its command line.
type Options struct {
	child.Options
	// Started is when the process was started; it counts into the time to ready.
	Started time.Time
	// Stdin ends the plane when it ends, unless it said child.Keep.
	Stdin io.Reader
	// Stdout gets the message that the plane is ready, and is closed then.
	Stdout io.WriteCloser
	// Stderr gets the logs of a verbose plane.
	Stderr io.Writer
	// Simulate runs the simulated world until ctx ends; nil runs none.
	Simulate func(ctx context.Context, w World) error
}

// Run runs a plane until ctx ends, SIGTERM comes, standard input ends, or a part
// of it fails; only the last is an error. It must be called at most once in a
// process, and the process must exit afterwards: the components leave goroutines
// behind.
func Run(ctx context.Context, o Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	// A parent that was killed leaves pipes nobody reads; writing to them must
	// not kill the plane before it has cleaned up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if child.AwaitEnd(o.Stdin) {
			cancel()
		}
	}()

	p := &plane{options: o, failed: make(chan error, 8)}
	err := p.run(ctx)
	if ctx.Err() != nil {
		err = nil // asked to end; what broke on the way does not matter
	}
	if err != nil {
		_ = child.Message{Error: err.Error()}.Write(o.Stdout)
		klog.ErrorS(err, "the plane failed")
	}
	klog.Flush()
	cancel()
	if err == nil && o.Remove {
		return p.remove()
	}
	return err
}

// plane is the state of one run.
type plane struct {
	options Options
	etcd    <-chan error
	failed  chan error
	egress  egress.Switch
	orders  orders
}

func (p *plane) run(ctx context.Context) error {
	o := p.options
	if err := setUpLogs(o.Dir, o.Verbose, o.Stderr); err != nil {
		return err
	}
	// Whoever opens etcd's socket owns the plane: the folder may have been there
	// before, open to others.
	syscall.Umask(0o077)
	if err := os.Chmod(o.Dir, 0o700); err != nil {
		return fmt.Errorf("close the plane's folder to other users: %w", err)
	}
	// Sockets are named relative to the folder; see etcdSocket.
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("enter the plane's folder: %w", err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		return fmt.Errorf("listen for the API: %w", err)
	}
	server := "https://" + listener.Addr().String()
	made, err := credentials{dir: o.Dir, server: server, name: o.Name, now: time.Now()}.write()
	if err != nil {
		return err
	}
	webhooks, err := pki.NewAuthority("ladder-plane-webhooks", time.Now(), certificateLife)
	if err != nil {
		return err
	}
	var contents []prebaked.Pair
	if !o.Plain {
		if contents, err = prebaked.For(kubernetesVersion()); err != nil {
			return err
		}
	}
	// Options set global feature gates, so they are made one after the other
	// before anything runs.
	api, err := newAPIServer(made, listener, &p.egress, &p.orders, webhooks.Bundle(), len(contents) > 0)
	if err != nil {
		return err
	}
	sched, err := newScheduler(made)
	if err != nil {
		return err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})

	var stored ranger
	if stored, p.etcd, err = startEtcd(ctx, o.Dir, etcdLog(o.Dir, o.Verbose), contents); err != nil {
		return err
	}
	p.start(ctx, "memory", func(ctx context.Context) error { return boundMemory(ctx, o.Memory) })
	p.start(ctx, "kube-apiserver", api.run)
	config, err := adminConfig(made.admin)
	if err != nil {
		return err
	}
	if err := p.await(ctx, func(ctx context.Context) error { return waitServing(ctx, config) }); err != nil {
		return err
	}
	p.start(ctx, "controllers", func(ctx context.Context) error { return runControllers(ctx, made, stored) })
	p.start(ctx, "kube-scheduler", sched.run)
	if err := p.await(ctx, func(ctx context.Context) error { return p.populate(ctx, config) }); err != nil {
		return err
	}
	if err := p.await(ctx, func(wait context.Context) error { return p.simulate(ctx, wait, config, webhooks) }); err != nil {
		return err
	}
	err = child.Message{Kubeconfig: made.admin, Server: server, Ready: time.Since(o.Started)}.Write(o.Stdout)
	if err == nil {
		err = o.Stdout.Close()
	}
	if err != nil {
		return err
	}
	return p.await(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
}

// start runs a component; its end is the end of the plane.
func (p *plane) start(ctx context.Context, name string, run func(context.Context) error) {
	go func() {
		err := run(ctx)
		if err == nil {
			err = errors.New("ended unexpectedly")
		}
		p.failed <- fmt.Errorf("%s: %w", name, err)
	}()
}

// await runs a step and gives up when a component fails first.
func (p *plane) await(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- step(ctx) }()
	select {
	case err := <-done:
		return err
	case err := <-p.failed:
		return err
	case err := <-p.etcd:
		return fmt.Errorf("etcd: %w", err)
	}
}

// populate makes what every cluster has before anybody uses it.
func (p *plane) populate(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if err := createNodes(ctx, client, p.options.Nodes, time.Now()); err != nil {
		return err
	}
	return waitUsable(ctx, client)
}

// simulate starts the simulated world, which lives as long as ctx, and waits
// until it is ready or the wait ends.
func (p *plane) simulate(ctx, wait context.Context, config *rest.Config, certificates egress.Certificates) error {
	if p.options.Simulate == nil {
		return nil
	}
	ready := make(chan struct{})
	var once sync.Once
	world := World{
		Config:       config,
		Certificates: certificates,
		Serve:        p.egress.Set,
		Orders:       p.orders.set,
		Ready:        func() { once.Do(func() { close(ready) }) },
		Arguments:    p.options.World,
		Dir:          p.options.Dir,
	}
	p.start(ctx, "simulated world", func(ctx context.Context) error { return p.options.Simulate(ctx, world) })
	select {
	case <-ready:
		return nil
	case <-wait.Done():
		return wait.Err()
	}
}

// remove deletes the plane's folder, the lock last: without a lock the folder
// may be taken for left over. The components still write while they end, so one
// attempt may not be enough.
func (p *plane) remove() error {
	var err error
	for range 50 {
		if err = removeBelow(p.options.Dir, child.LockFile); err == nil {
			err = os.RemoveAll(p.options.Dir)
		}
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("remove the plane's folder: %w", err)
}

// removeBelow empties a folder, but for one file.
func removeBelow(dir, spared string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != spared {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

func adminConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Clean(kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("read the plane's kubeconfig: %w", err)
	}
	config.QPS = -1 // the API server has its own fairness
	return config, nil
}
