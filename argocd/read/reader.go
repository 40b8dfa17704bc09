package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	reposervercache "github.com/argoproj/argo-cd/v3/reposerver/cache"
	"github.com/argoproj/argo-cd/v3/reposerver/metrics"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	argoutil "github.com/argoproj/argo-cd/v3/util/argo"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/git"
	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxApplications ends what makes itself without end.
	maxApplications = 20_000
	cacheLife       = time.Hour
	megabyte        = 1_000_000
)

// reader has Argo CD's repo server and generators read one repository.
type reader struct {
	request    Request
	folder     string
	server     *repository.Service
	generators map[string]generators.Generator
	client     client.Client

	result Result
	// seen are the Applications and ApplicationSets that were followed.
	seen map[string]bool
}

func newReader(ctx context.Context, request Request) (*reader, error) {
	folder, err := os.MkdirTemp("", "argocd-read-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	r := &reader{request: request, folder: folder, seen: map[string]bool{}}
	remembered := reposervercache.NewCache(cacheutil.NewCache(cacheutil.NewInMemoryCache(cacheLife)), cacheLife, cacheLife, time.Minute)
	r.server = repository.NewService(metrics.NewMetricsServer(), remembered, repository.RepoServerInitConstants{
		EnableBuiltinGitConfig:            true,
		MaxCombinedDirectoryManifestsSize: *resource.NewQuantity(10*megabyte, resource.DecimalSI),
		HelmManifestMaxExtractedSize:      1000 * megabyte,
		HelmRegistryMaxIndexSize:          1000 * megabyte,
	}, git.NoopCredsStore{}, filepath.Join(folder, "repositories"))
	if err := r.server.Init(); err != nil {
		r.close()
		return nil, fmt.Errorf("start the repo server: %w", err)
	}
	clients, err := newCluster(request)
	if err != nil {
		r.close()
		return nil, err
	}
	r.client = clients.objects
	r.generators = generators.GetGenerators(ctx, clients.objects, clients.kubernetes, request.Namespace, files{r}, nil, generators.SCMConfig{})
	return r, nil
}

func (r *reader) close() { _ = os.RemoveAll(r.folder) } // a temporary folder

// pending is an object that was applied, and by what.
type pending struct {
	object      map[string]any
	parent, set string
}

// read follows what is applied by hand to its end.
func (r *reader) read(ctx context.Context) Result {
	var queue []pending
	for _, root := range r.request.Roots {
		queue = append(queue, pending{object: root})
	}
	for len(queue) > 0 && len(r.result.Applications) < maxApplications {
		next := queue[0]
		queue = append(queue[1:], r.follow(ctx, next)...)
	}
	return r.result
}

// follow takes an object of Argo CD and returns what it makes of such objects.
func (r *reader) follow(ctx context.Context, p pending) []pending {
	kind, _ := p.object["kind"].(string)
	text, err := json.Marshal(p.object)
	if err != nil {
		return nil
	}
	// Of one name there may be several, one for each environment.
	key := kind + string(text)
	if version, _ := p.object["apiVersion"].(string); !strings.HasPrefix(version, "argoproj.io/") || r.seen[key] {
		return nil
	}
	switch kind {
	case "Application":
		r.seen[key] = true
		return r.application(ctx, p)
	case "ApplicationSet":
		r.seen[key] = true
		return r.set(p)
	}
	return nil
}

// set runs an ApplicationSet.
func (r *reader) set(p pending) []pending {
	var set v1alpha1.ApplicationSet
	if err := convert(p.object, &set); err != nil {
		r.result.Failures = append(r.result.Failures, Failure{fmt.Sprint(p.object["metadata"]), err.Error()})
		return nil
	}
	set.Namespace = r.request.Namespace
	made, _, err := template.GenerateApplications(logrus.NewEntry(logrus.StandardLogger()), set, r.generators, &utils.Render{}, r.client)
	if err != nil {
		r.result.Failures = append(r.result.Failures, Failure{set.Name, err.Error()})
	}
	var all []pending
	for _, app := range made {
		app.APIVersion, app.Kind = "argoproj.io/v1alpha1", "Application"
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&app)
		if err != nil {
			r.result.Failures = append(r.result.Failures, Failure{set.Name, err.Error()})
			continue
		}
		all = append(all, pending{object, p.parent, set.Name})
	}
	return all
}

// application renders an Application, and returns the objects of Argo CD among its
// objects.
func (r *reader) application(ctx context.Context, p pending) []pending {
	var app v1alpha1.Application
	made := Application{Parent: p.parent, Set: p.set}
	defer func() { r.result.Applications = append(r.result.Applications, made) }()
	if err := convert(p.object, &app); err != nil {
		made.Name, made.Failure = fmt.Sprint(p.object["metadata"]), err.Error()
		return nil
	}
	app.Spec = *argoutil.NormalizeApplicationSpec(&app.Spec) // as the controller does first
	made.Name = app.Name
	made.Spec, _ = p.object["spec"].(map[string]any)
	manifests, err := r.render(ctx, &app, &made)
	if err != nil {
		made.Failure = err.Error()
	}
	var all []pending
	for _, text := range manifests {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			made.Failure = err.Error()
			continue
		}
		made.Objects = append(made.Objects, object)
		all = append(all, pending{object: object, parent: app.Name})
	}
	return all
}

// render has the repo server render the sources of an Application that are in the
// repository, as the application controller does. Source: CompareAppState in
// controller/state.go.
func (r *reader) render(ctx context.Context, app *v1alpha1.Application, made *Application) ([]string, error) {
	sources := app.Spec.GetSources()
	refs, err := argoutil.GetRefSources(ctx, sources, app.Spec.Project, func(_ context.Context, url, _ string) (*v1alpha1.Repository, error) {
		return r.repository(url), nil
	}, nil)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if r.isOwn(ref.Repo.Repo) {
			ref.TargetRevision = head
		}
	}
	var manifests []string
	for _, source := range sources {
		if source.Chart != "" || !r.isOwn(r.repository(source.RepoURL).Repo) {
			made.Elsewhere = made.Elsewhere || source.Chart != "" || source.Path != ""
			made.Types = append(made.Types, "")
			continue
		}
		if source.Path == "" && source.Ref != "" {
			made.Types = append(made.Types, "") // for its value files only
			continue
		}
		source.RepoURL, source.TargetRevision = r.request.Address, head
		response, err := r.server.GenerateManifest(ctx, &apiclient.ManifestRequest{
			Repo: r.repository(source.RepoURL), Revision: head, AppName: app.Name, Namespace: app.Spec.Destination.Namespace,
			ApplicationSource: &source, KubeVersion: r.request.KubeVersion, ApiVersions: r.request.APIVersions,
			KustomizeOptions:   r.kustomize(),
			HasMultipleSources: app.Spec.HasMultipleSources(), RefSources: refs,
			ProjectName: app.Spec.Project, ProjectSourceRepos: []string{"*"},
		})
		if err != nil {
			return manifests, err
		}
		made.Types = append(made.Types, response.SourceType)
		manifests = append(manifests, response.Manifests...)
	}
	return manifests, nil
}

// kustomize are the settings of kustomize, with which there is one program.
func (r *reader) kustomize() *v1alpha1.KustomizeOptions {
	options := &v1alpha1.KustomizeOptions{BuildOptions: r.request.BuildOptions}
	for _, name := range r.request.Versions {
		options.Versions = append(options.Versions, v1alpha1.KustomizeVersion{Name: name, Path: "kustomize"})
	}
	return options
}

// head is the only revision that the repository has.
const head = "HEAD"

// repository is the one at an address: the local one where it is its own.
func (r *reader) repository(url string) *v1alpha1.Repository {
	if slices.Contains(r.request.Own, bare(url)) {
		url = r.request.Address
	}
	return &v1alpha1.Repository{Repo: url}
}

func (r *reader) isOwn(url string) bool { return url == r.request.Address }

// scheme matches what comes before the host of an address.
var scheme = regexp.MustCompile(`^([a-z+]+://)?([^/@]+@)?`)

// bare is an address as Request.Own has them.
func bare(url string) string {
	text := strings.ToLower(strings.TrimSpace(url))
	isScp := !strings.Contains(text, "://")
	text = scheme.ReplaceAllString(text, "")
	if isScp {
		text = strings.Replace(text, ":", "/", 1)
	}
	return strings.TrimSuffix(strings.TrimSuffix(text, "/"), ".git")
}

func convert(object map[string]any, to any) error {
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	return err
}

// files is what the generators read of Git.
type files struct{ reader *reader }

// GetFiles implements services.Repos.
func (f files) GetFiles(ctx context.Context, url, _, project, pattern string, _, _ bool) (map[string][]byte, error) {
	r := f.reader
	if repo := r.repository(url); !r.isOwn(repo.Repo) {
		return nil, fmt.Errorf("%s is another repository", url)
	}
	answer, err := r.server.GetGitFiles(ctx, &apiclient.GitFilesRequest{
		Repo: r.repository(url), Revision: head, Path: pattern, NewGitFileGlobbingEnabled: r.request.NewGlobbing,
	})
	return answer.GetMap(), err
}

// GetDirectories implements services.Repos.
func (f files) GetDirectories(ctx context.Context, url, _, project string, _, _ bool) ([]string, error) {
	r := f.reader
	if repo := r.repository(url); !r.isOwn(repo.Repo) {
		return nil, fmt.Errorf("%s is another repository", url)
	}
	answer, err := r.server.GetGitDirectories(ctx, &apiclient.GitDirectoriesRequest{Repo: r.repository(url), Revision: head})
	return answer.GetPaths(), err
}
