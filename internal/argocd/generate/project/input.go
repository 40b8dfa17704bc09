package project

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Input is what the AppProjects are made from.
type Input struct {
	// Namespace is where Argo CD runs, and its projects with it.
	Namespace string
	// Applications are all that belong to the projects, the root Application
	// included, in any order.
	Applications []Application
	Roles        []Role
	SyncWindows  []SyncWindow
	// Orphaned has Argo CD warn of what no Application has.
	Orphaned bool
	// Labels are put on every project.
	Labels map[string]string
}

// Application is what one Application asks of its project.
type Application struct {
	Name, Project string
	// Sources are the addresses of all its sources, chart repositories included.
	Sources []string
	// Destination is its own.
	Destination Destination
	// CreateNamespace is set where the sync makes the namespace of the destination.
	CreateNamespace bool
	// Objects are what a sync applies.
	Objects []Object
	// Unrendered says why not all of its objects are known; empty where they are.
	Unrendered string
}

// Object is what a project judges of one object.
type Object struct {
	Group, Kind string
	// Namespace is where it lands; empty for that of the destination, and for
	// cluster-wide objects.
	Namespace   string
	ClusterWide bool
}

// Role is a role of projects for groups of the identity provider.
type Role struct {
	Name, Description string
	Groups            []string
	// Projects are those that have the role; empty for all.
	Projects []string
	// Policies are actions on Applications ("sync", "get", "action/*"), and "logs"
	// and "exec", which are resources of their own.
	Policies []string
}

// SyncWindow is a time in which Applications may sync, or may not.
type SyncWindow struct {
	// Projects are those that have the window; empty for all.
	Projects []string
	Window
}

// Objects are those of rendered objects for which Argo CD asks the project: what a
// sync applies, hooks included, be it after a failure, and the hooks that run when
// the Application is deleted. Tests of Helm's and hooks that never run are not.
// Source: Argo CD, controller/sync.go (validateSyncPermissions) and hook.go.
func Objects(rendered []manifest.Object, scopes *manifest.Scopes) []Object {
	var out []Object
	seen := map[Object]bool{}
	for _, o := range rendered {
		phases, _ := manifest.SyncPhases(o.Unstructured)
		if len(phases) == 0 && !onDeletion(o) {
			continue
		}
		r := o.Resource()
		object := Object{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace}
		if r.Namespace == "" || scopes.ClusterWide(r.Group, r.Kind) {
			object.Namespace, object.ClusterWide = "", true
		}
		if !seen[object] {
			seen[object] = true
			out = append(out, object)
		}
	}
	slices.SortFunc(out, func(a, b Object) int {
		return strings.Compare(a.Group+"/"+a.Kind+"/"+a.Namespace, b.Group+"/"+b.Kind+"/"+b.Namespace)
	})
	return out
}

// onDeletion reports whether an object is a hook that runs when its Application is
// deleted.
func onDeletion(o manifest.Object) bool {
	annotations := o.GetAnnotations()
	return slices.ContainsFunc(strings.Split(annotations[manifest.HookAnnotation]+","+annotations[manifest.HelmHookAnnotation], ","), func(hook string) bool {
		return slices.Contains([]string{"PreDelete", "PostDelete", "pre-delete", "post-delete"}, strings.TrimSpace(hook))
	})
}
