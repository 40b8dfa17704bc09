package simulate

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/plane/egress"
	"github.com/rollout-ladder/ladder/internal/simulate/certificate"
	"github.com/rollout-ladder/ladder/internal/simulate/idle"
	"github.com/rollout-ladder/ladder/internal/simulate/kubelet"
	"github.com/rollout-ladder/ladder/internal/simulate/network"
	"github.com/rollout-ladder/ladder/internal/simulate/operator"
	"github.com/rollout-ladder/ladder/internal/simulate/pending"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
	"github.com/rollout-ladder/ladder/internal/simulate/storage"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// Options of Run. The zero value works.
type Options struct {
	// Config is used until the ConfigMap ladder-system/simulation exists.
	Config settings.Config
	Log    *slog.Logger
	// Serve is given the backend of the webhooks and aggregated APIs of the
	// plane; Certificates are those it serves. Without Serve they are refused.
	Serve        func(egress.WebhookBackend)
	Certificates egress.Certificates
	// Orders is given what moves the world's clock, and nil at the end; see package
	// idle. Without it the clock only goes by itself.
	Orders func(http.Handler)
	// Ready is called once, when the world has seen all of the plane and works.
	Ready func()
}

// How much is worked on at once; most of the work is waiting for a request.
const (
	podWorkers      = 8
	operatorWorkers = 4
	fewWorkers      = 2
)

// Run runs the simulated world of a plane until ctx ends. It returns nil when
// ctx ended, else why it could not run.
func Run(ctx context.Context, cfg *rest.Config, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w, err := world.New(cfg, simtime.New(o.Config.Rate()), o.Log, o.Config)
	if err != nil {
		return fmt.Errorf("simulate the world: %w", err)
	}
	check, err := smokes(w)
	if err != nil {
		return fmt.Errorf("simulate the world: %w", err)
	}
	rules := &ruleBook{log: o.Log}
	rules.load(ctx, o.Config.Rules)
	public, err := certificate.NewAuthority("Simulated Public CA", time.Now())
	if err != nil {
		return fmt.Errorf("simulate the world: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	workloads := world.NewWorkloads(w)
	pods := kubelet.New(w, check)
	volumes := storage.New(w, workloads, rules.get)
	operators := operator.New(ctx, w, workloads, rules.get(), public)
	inside := network.New(w, workloads, rules.get, o.Certificates)
	timers := pending.Follow(w, time.Now)
	follow(w, o, func(c settings.Config) {
		w.BeginAnew()
		if rules.load(ctx, c.Rules) {
			operators.SetRules(rules.get())
			volumes.Refresh()
			inside.Refresh()
		} else {
			operators.Refresh()
		}
		pods.Refresh()
	})
	if err := w.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("simulate the world: %w", err)
	}
	g.Go(func() error { pods.Run(ctx, podWorkers); return nil })
	g.Go(func() error { volumes.Run(ctx, fewWorkers); return nil })
	g.Go(func() error { operators.Run(ctx, operatorWorkers); return nil })
	g.Go(func() error { return inside.Run(ctx) })
	if o.Serve != nil {
		o.Serve(inside)
		defer o.Serve(nil)
	}
	if o.Orders != nil {
		o.Orders(&idle.Server{Clock: w.Clock, Pace: timers.Pace})
		defer o.Orders(nil)
	}
	if o.Ready != nil {
		o.Ready()
	}
	return g.Wait()
}

// follow keeps the configuration what its ConfigMap says.
func follow(w *world.World, o Options, changed func(settings.Config)) {
	w.ConfigMaps.Watch(func(cm *corev1.ConfigMap, deleted bool) {
		if cm.Namespace != settings.Namespace || cm.Name != settings.Name {
			return
		}
		config := o.Config
		if !deleted {
			parsed, err := settings.Parse([]byte(cm.Data[settings.Key]))
			if err != nil {
				o.Log.Error("simulated world: the configuration stays what it was", "error", err)
				return
			}
			config = parsed
		}
		w.SetConfig(config)
		changed(config)
	})
}
