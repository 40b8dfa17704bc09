package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// Options say what is bootstrapped, and how.
type Options struct {
	Config *Config
	// Path is the folder of the platform; empty for that of the configuration.
	Path string
	Load analysis.Options
	// Connect finds the cluster and asks whether it answers. Both arguments may be
	// empty. An *UnreachableError is one that does not.
	Connect func(ctx context.Context, kubeconfig, context string) (*Access, error)
	// DryRun changes nothing.
	DryRun bool
	// ResetCluster deletes the cluster that the configuration makes, first.
	ResetCluster bool
	// ShowAdminPassword puts the first password of Argo CD's admin into the report.
	ShowAdminPassword bool
	// Timeout bounds the run; 0 means that of the configuration.
	Timeout time.Duration
	// LookupEnv finds environment variables.
	LookupEnv func(string) (string, bool)
	// Image runs the smoke Jobs of what is generated.
	Image string
	// Say is told what is being done; nil tells nobody.
	Say func(string)
	// Clock is the source of time; nil means the system's.
	Clock clock.Clock
}

// Access is the way to a cluster that answers.
type Access struct {
	REST *rest.Config
	// Name is what people call the cluster.
	Name string
	// Simulated is set for a plane.
	Simulated bool
	// Version is that of its API server.
	Version string
}

// UnreachableError means that the cluster does not answer.
type UnreachableError struct{ Err error }

// Error implements error.
func (e *UnreachableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Outcome is what became of a bootstrap.
type Outcome struct {
	Report report.Bootstrap
	// Access is the cluster; nil where it was not reached.
	Access *Access
	// Namespace is Argo CD's.
	Namespace string
}

// run is one bootstrap.
type run struct {
	options Options
	values  *values
	sources *sources
	access  *Access
	// target is nil in a dry run for a cluster that does not exist yet.
	target *engine.Client
	// crds are the kinds whose CRDs were applied, seen the namespaces that exist.
	crds map[schema.GroupKind]bool
	seen map[string]bool
}

// Run bootstraps a platform. An error means that the input has to be mended, and
// that nothing was changed; everything else is in the outcome.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &run{options: o, crds: map[schema.GroupKind]bool{}, seen: map[string]bool{}}
	r.values = &values{folder: filepath.Dir(o.Config.File), lookup: o.LookupEnv}
	if err := r.values.readEnv(o.Config.EnvFile); err != nil {
		return Outcome{}, err
	}
	r.options.Path = o.Config.PlatformPath(o.Path)
	r.options.Load.Environment = cmp.Or(o.Load.Environment, o.Config.Environment)
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, o.Config.Timeout))
	defer cancel()

	out := Outcome{Report: report.Bootstrap{
		FormatVersion: report.FormatVersion, DryRun: o.DryRun, Environment: r.options.Load.Environment,
		Started: report.Time(o.Clock.Now()), Warnings: []string{},
	}}
	err := r.stages(ctx, &out)
	out.Report.Finished = report.Time(o.Clock.Now())
	out.Access = r.access
	if r.sources != nil {
		out.Namespace = r.sources.namespace
	}
	if err != nil {
		return Outcome{}, err
	}
	r.redact(&out.Report)
	return out, nil
}

// PlatformPath is the folder of the platform: the one that is given, else that of
// the configuration, else the configuration's own.
func (c *Config) PlatformPath(given string) string {
	if given != "" {
		return given
	}
	folder := filepath.Dir(c.File)
	if c.Platform == "" {
		return folder
	}
	return filepath.Join(folder, filepath.FromSlash(c.Platform))
}

// stages runs the stages until one fails.
func (r *run) stages(ctx context.Context, out *Outcome) error {
	list := []struct {
		name string
		do   func(context.Context, *report.BootstrapStage) error
	}{
		{"sources", r.stageSources}, {"cluster", r.stageCluster}, {"pre-argo", r.stagePreArgo}, {"secrets", r.stageSecrets},
		{"argocd", r.stageArgoCD}, {"root", r.stageRoot}, {"platform", r.stagePlatform},
	}
	b := &out.Report
	for _, s := range list {
		b.Stages = append(b.Stages, report.NewBootstrapStage(s.name))
	}
	b.Result = report.BootstrapSucceeded
	if r.options.DryRun {
		b.Result = report.BootstrapPlanned
	}
	for i, s := range list {
		stage := &b.Stages[i]
		started := r.options.Clock.Now()
		stage.Started, stage.State = report.Time(started), report.StageDone
		err := s.do(ctx, stage)
		finished := r.options.Clock.Now()
		stage.Finished, stage.Seconds = report.Time(finished), finished.Sub(started).Seconds()
		if r.sources != nil {
			b.Environment, b.Warnings = r.sources.platform.Environment, append([]string{}, r.sources.warnings...)
		}
		if r.access != nil {
			b.Cluster = r.access.Name
		}
		if err != nil && i == 0 && isInput(err) {
			return err
		}
		if err != nil {
			stage.State, b.Result = verdict(err)
			stage.Message = err.Error()
			r.note("%s: %s: %s", s.name, stage.State, stage.Message)
			b.Cluster = cmp.Or(b.Cluster, "the cluster")
			break
		}
		settle(stage, r.options.DryRun)
	}
	// People ask for the password also to see in Argo CD what failed; the time of the run may
	// be over then.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), passwordPatience)
	defer cancel()
	r.password(late, b)
	return nil
}

// settle says what a stage that did not fail has come to.
func settle(s *report.BootstrapStage, dryRun bool) {
	if s.State != report.StageDone {
		return
	}
	changes := false
	for _, o := range s.Objects {
		changes = changes || (o.Action != report.ObjectUnchanged && o.Action != report.ObjectAdopted)
	}
	switch {
	case dryRun && changes:
		s.State = report.StagePlanned
	case !changes && len(s.Objects) > 0:
		s.State = report.StageUnchanged
	}
}

// isInput reports whether an error is about what the user wrote.
func isInput(err error) bool {
	return len(repofs.InputErrors(err)) > 0 || errors.As(err, new(*session.RefusedError)) || errors.As(err, new(*repofs.InputError))
}

// verdict is the state of the stage that an error ended, and the result of the
// run.
func verdict(err error) (state, result string) {
	var wait *WaitError
	switch {
	case errors.As(err, &wait) && wait.Late, errors.Is(err, context.DeadlineExceeded):
		return report.StageTimedOut, report.BootstrapTimedOut
	case errors.Is(err, context.Canceled):
		return report.StageInterrupted, report.BootstrapInterrupted
	case unanswered(err):
		return report.StageFailed, report.BootstrapUnreachable
	default:
		return report.StageFailed, report.BootstrapFailed
	}
}

// unanswered reports that the API server did not take a request.
func unanswered(err error) bool {
	if errors.As(err, new(*UnreachableError)) {
		return true
	}
	if errors.As(err, new(apierrors.APIStatus)) || errors.As(err, new(*downloadError)) {
		return false
	}
	return errors.As(err, new(*engine.SilentError)) || errors.As(err, new(*url.Error)) || errors.As(err, new(*net.OpError))
}

// note tells what is being done, without secrets.
func (r *run) note(format string, args ...any) {
	if r.options.Say != nil {
		r.options.Say(finding.Redact(r.values.redact(fmt.Sprintf(format, args...))))
	}
}

// redact takes secrets out of everything that a cluster, a tool or a file may have
// brought into the report.
func (r *run) redact(b *report.Bootstrap) {
	clean := func(text *string) { *text = finding.Redact(r.values.redact(*text)) }
	for i := range b.Stages {
		s := &b.Stages[i]
		clean(&s.Message)
		for j := range s.Waiting {
			clean(&s.Waiting[j].What)
			clean(&s.Waiting[j].Reason)
		}
		for j := range s.Objects {
			clean(&s.Objects[j].Object)
			clean(&s.Objects[j].By)
		}
	}
	for i := range b.Warnings {
		clean(&b.Warnings[i])
	}
}
